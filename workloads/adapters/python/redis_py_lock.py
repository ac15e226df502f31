"""redis-py's own lock, redis.lock.Lock, unmodified: doublegrant explore -- python3 redis_py_lock.py

With the argument timeout=0 the lock is made as Lock(timeout=0), a lock without an end. Its reacquire() then deletes it and returns True.
"""
import sys
import redis
from redis.exceptions import LockError, LockNotOwnedError
from redis.lock import Lock
from lock import NothingDone, main

ENDLESS = "timeout=0" in sys.argv


class RedisPyLock:
    can = ["acquire", "extend", "release"]
    symmetric = True

    def __init__(self, url, timeout):
        self.redis, self.lock = redis.Redis.from_url(url, socket_timeout=timeout), None

    def acquire(self, key, owner, ttl_ms):
        self.lock = Lock(self.redis, key, timeout=0 if ENDLESS else ttl_ms / 1000)
        return self.lock.acquire(blocking=False)

    def extend(self, key, owner, ttl_ms):
        return self.owned(self.lock.reacquire)

    def release(self, key, owner):
        return self.owned(self.lock.release)

    def owned(self, do):
        try:
            do()
            return True
        except LockNotOwnedError:
            return False
        except LockError as e:  # the library refuses before it sends anything
            raise NothingDone(str(e))


main(RedisPyLock)
