"""The lock of OpenStack's tooz, unmodified: doublegrant explore -- python3 tooz_lock.py

Leases are in whole seconds, rounded up. A coordinator also tells that its member lives. Here it does not: it has the lock, and nothing else.
"""
import logging
import redis
from tooz import ToozError, coordination
from lock import main

logging.disable()


class ToozLock:
    can = ["acquire", "extend", "release"]
    symmetric = True

    def __init__(self, url, timeout):
        self.redis, self.lock = redis.Redis.from_url(url, socket_timeout=timeout), None

    def acquire(self, key, owner, ttl_ms):
        coordinator = coordination.get_coordinator(f"redis://?lock_timeout={-(-ttl_ms // 1000)}", owner.encode())
        coordinator._client = self.redis  # in place of start(), which asks Redis for its version first
        self.lock = coordinator.get_lock(key)
        return self.lock.acquire(blocking=False)

    def extend(self, key, owner, ttl_ms):
        try:
            return self.lock.heartbeat()
        except ToozError as e:
            if isinstance(e.cause, redis.exceptions.LockNotOwnedError):
                return False
            raise

    def release(self, key, owner):
        return self.lock.release()


main(ToozLock)
