"""A message filter by add of cachelib's RedisCache, unmodified."""
import redis
from cachelib.redis import RedisCache
from lock import main


class Filter:
    can = ["claim"]
    symmetric = True

    def __init__(self, url, timeout):
        self.cache = RedisCache(redis.Redis.from_url(url, socket_timeout=timeout))

    def claim(self, key, ttl_ms):  # timeouts are in whole seconds, rounded up
        return bool(self.cache.add(key, "seen", timeout=-(-ttl_ms // 1000)))


main(Filter)
