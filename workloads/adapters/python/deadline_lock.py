"""A lock in Python that reckons leases by its own clock: doublegrant explore -- python3 deadline_lock.py

Its value is a deadline by time.time(); when that is past, whoever sees it takes the lock over by GETSET. "preloaded" says that a search
is to set time.time() and time.sleep() of the C library, so that nothing in the lock has to change for it.

No lock to use: its release deletes whatever is there, which three clients show.
"""
import time
from lock import Lock, main


class DeadlineLock(Lock):
    can = ["acquire", "release"]
    clock = "preloaded"

    def now(self):  # in whole milliseconds everywhere, as Redis counts
        return int(time.time() * 1000)

    def acquire(self, key, owner, ttl_ms):
        if self.redis.set(key, self.now() + ttl_ms, nx=True):
            return True
        held = self.redis.get(key)
        if held is None or self.now() <= int(held):
            return False
        return self.redis.getset(key, self.now() + ttl_ms) == held

    def release(self, key, owner):
        self.redis.delete(key)
        return True


if __name__ == "__main__":
    main(DeadlineLock)
