"""Three processes that compute at once, on a Redis at 127.0.0.1:6379. It takes 61 seconds."""
import time
from django.conf import settings

settings.configure()
from cacheops.redis import CacheopsRedis

first, second, third = [CacheopsRedis().getting("example", lock=True) for _ in range(3)]
first.__enter__()
time.sleep(61)  # it computes for longer than the lock lasts
second.__enter__()
first.__exit__(None, None, None)
print(third.__enter__())  # None: it computes beside the second, for which it should wait
