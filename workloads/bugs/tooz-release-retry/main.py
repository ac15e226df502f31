"""The lock of tooz, unmodified."""
import tooz_lock  # runs it
