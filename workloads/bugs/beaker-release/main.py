"""The lock of Beaker's Redis backend, unmodified."""
import redis
from beaker.ext.redisnm import RedisSynchronizer
from lock import main


class Lock:
    can = ["acquire", "release"]
    symmetric = True

    def __init__(self, url, timeout):
        self.redis = redis.Redis.from_url(url, socket_timeout=timeout)

    def acquire(self, key, owner, ttl_ms):  # a lease is 900 s
        self.lock = RedisSynchronizer(key, self.redis)
        return self.lock.do_acquire_write_lock(wait=False)

    def release(self, key, owner):
        self.lock.do_release_write_lock()
        return True


main(Lock)
