"""The locks of rq's scheduler, unmodified."""
import rq_scheduler  # runs it
