"""redis-py's Lock, unmodified."""
import redis_py_lock  # runs it
