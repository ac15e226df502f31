"""Redlock in Python (redis-py) for doublegrant: doublegrant run --topology masters:5 --adapter "python3 redlock.py"

It is the lock of the Redis documentation, "Distributed Locks with Redis", on several masters that know nothing of each other. To test your
own, change the class. With the word "two" after it, two masters are enough, which is wrong on five.
"""
import sys, time
import redis
from lock import EXTEND, RELEASE, NothingDone, main


def end(ttl_ms):
    """Returns the end of a lease that begins now, as a master sees it whose clock is faster by a hundredth."""
    return time.monotonic() + ttl_ms * 0.99 / 1000 - 0.002


class Redlock:
    can = ["acquire", "extend", "release"]
    symmetric = any_thread = True
    masters = 3  # at least: of two, one may not fail

    def __init__(self, urls, timeout):
        patience = min(timeout or 1, 0.05)  # a master that does not answer must not cost the lease
        self.all = [redis.Redis.from_url(url, socket_timeout=patience, socket_connect_timeout=patience) for url in urls]
        self.most = 2 if "two" in sys.argv else len(urls) // 2 + 1

    def vote(self, do):
        """Asks every master, and counts who says yes, who says no, and who says nothing."""
        yes = no = 0
        for master in self.all:
            try:
                answer = do(master)
                yes, no = yes + bool(answer), no + (not answer)
            except redis.RedisError:
                pass
        return yes, no, len(self.all) - yes - no

    def acquire(self, key, owner, ttl_ms):
        until = end(ttl_ms)
        yes, no, silent = self.vote(lambda master: master.set(key, owner, nx=True, px=ttl_ms))
        if yes >= self.most and time.monotonic() < until:
            return True
        silent += self.vote(lambda master: master.eval(RELEASE, 1, key, owner) or True)[2]
        if silent:  # it may be in the way of others on that one
            raise redis.RedisError("%d answers were missing" % silent)
        if no >= self.most:
            return False
        raise NothingDone("given back")  # nobody may have it: who tries again waits for a random time

    def extend(self, key, owner, ttl_ms):
        until = end(ttl_ms)
        yes, no, _ = self.vote(lambda master: master.eval(EXTEND, 1, key, owner, ttl_ms))
        if no >= self.most:
            return False
        if yes < self.most or time.monotonic() >= until:
            raise redis.RedisError("renewed in part, or too late")
        return True

    def release(self, key, owner):
        yes, no, _ = self.vote(lambda master: master.eval(RELEASE, 1, key, owner))
        if yes < self.most and no < self.most:
            raise redis.RedisError("released in part")
        return yes >= self.most


if __name__ == "__main__":
    main(Redlock)
