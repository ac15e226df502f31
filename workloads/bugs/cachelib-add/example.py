"""A key of add that stays, on a Redis at 127.0.0.1:6379."""
import redis
from cachelib.redis import RedisCache


class Dies(redis.Redis):
    def expire(self, *_, **__):  # as where its process ends after SETNX
        raise redis.ConnectionError


try:
    RedisCache(Dies()).add("example", 1, timeout=1)
except redis.ConnectionError:
    pass
print(redis.Redis().ttl("example"))  # -1: it never ends, and should end after a second
