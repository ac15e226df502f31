"""Two owners of one lock, on a Redis at 127.0.0.1:6379."""
import redis
from beaker.ext.redisnm import RedisSynchronizer


class Late(redis.client.Pipeline):
    def delete(self, *names):  # the lease ends, and another takes the lock, before the DEL
        other = redis.Redis()
        other.delete(*names)
        other.set(names[0], "second", nx=True, ex=900)
        return super().delete(*names)


class Client(redis.Redis):
    def pipeline(self, transaction=True, shard_hint=None):
        return Late(self.connection_pool, self.response_callbacks, transaction, shard_hint)


first = RedisSynchronizer("example", Client())
first.do_acquire_write_lock(wait=False)
try:
    first.do_release_write_lock()
except redis.WatchError:
    pass
print(redis.Redis().get("beaker_lock:example"))  # None, and should be b'second'
