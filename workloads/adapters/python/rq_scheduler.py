"""The locks of rq's scheduler, unmodified: doublegrant explore --ttl 70s -- python3 rq_scheduler.py

A scheduler takes the locks of its queues, renews them by its heartbeat, and gives them up when it stops. With the argument two-queues each
scheduler has a queue of its own beside the one of all, and a scheduler that got its own alone stops.
"""
import os, sys, threading

if os.environ.get("PYTHONHASHSEED") != "0":  # rq goes through its queues in the order of a set
    os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, "PYTHONHASHSEED": "0"})

import redis
from lock import main

client = threading.local()
os.getpid = lambda: getattr(client, "owner", 0)  # rq's token: pids differ from run to run
from rq.scheduler import RQScheduler


class Scheduler:
    can = ["acquire", "extend", "release"]
    symmetric = True

    def __init__(self, url, timeout):
        self.redis, self.scheduler = redis.Redis.from_url(url, socket_timeout=timeout), None

    def acquire(self, key, owner, ttl_ms):  # a lock lasts for the interval and a minute, in whole seconds
        client.owner = owner
        queues = [key, "own-" + owner] if "two-queues" in sys.argv else [key]
        self.scheduler = RQScheduler(queues, self.redis, interval=ttl_ms // 1000 - 60, logging_level="ERROR")
        self.scheduler._connection = self.redis  # instead of a second connection with the same settings
        if key in self.scheduler.acquire_locks():
            return True
        if "two-queues" in sys.argv:
            self.scheduler.stop()
        return False

    def extend(self, key, owner, ttl_ms):
        self.scheduler.heartbeat()
        return True

    def release(self, key, owner):
        self.scheduler.stop()
        return True


main(Scheduler)
