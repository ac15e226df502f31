"""The lock of django-cacheops, unmodified, by which one process computes what is not in the cache."""
from django.conf import settings

settings.configure()
from cacheops.redis import CacheopsRedis
from lock import main


class Busy(Exception):
    pass


class TriesOnce(CacheopsRedis):
    def brpoplpush(self, *_, **__):  # where the lock would wait
        raise Busy


class Lock:
    can = ["acquire", "release"]
    symmetric = True

    def __init__(self, url, timeout):
        self.redis = TriesOnce.from_url(url, socket_timeout=timeout)

    def acquire(self, key, owner, ttl_ms):  # a lease is 60 s
        self.getting = self.redis.getting(key, lock=True)
        try:
            return self.getting.__enter__() is None
        except Busy:
            return False

    def release(self, key, owner):
        self.getting.__exit__(None, None, None)
        return True


main(Lock)
