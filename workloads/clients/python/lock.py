"""A lock in Python (redis-py) for doublegrant: doublegrant explore -- python3 lock.py

To test your own lock, change the class Lock. The rest speaks the protocol of ../README.md.
"""
import json, os, queue, sys, threading
import redis

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'


class Lock:
    """The lock of one client. Each method returns whether it was done, and raises if nobody knows."""

    can = ["acquire", "extend", "release"]
    symmetric = True  # tokens are compared for equality only
    clock = "asked"  # it reads none; "preloaded" if it reads the machine's (deadline_lock.py)

    def __init__(self, url, timeout):  # timeout in seconds, or None: then wait for as long as it takes
        self.redis = redis.Redis.from_url(url, socket_timeout=timeout)

    def acquire(self, key, owner, ttl_ms):  # try once; owner is a token that nobody else has
        return self.redis.set(key, owner, nx=True, px=ttl_ms) is True

    def extend(self, key, owner, ttl_ms):
        return self.redis.eval(EXTEND, 1, key, owner, ttl_ms) == 1

    def release(self, key, owner):
        return self.redis.eval(RELEASE, 1, key, owner) == 1


class NothingDone(Exception):
    """Raise it where certainly nothing was done, and that is no answer of the lock."""


def say(**answer):
    os.write(1, json.dumps(answer).encode() + b"\n")  # in one piece, whichever thread it is


def work(requests, make):
    """One client: a thread that does one operation after the other."""
    lock = make()
    for r in iter(requests.get, None):
        arguments = {k: v for k, v in r.items() if k in ("key", "owner", "ttl_ms", "proposed")}
        try:
            got = getattr(lock, r["do"])(**arguments)
            say(id=r["id"], ok=got) if isinstance(got, bool) else say(id=r["id"], ok=True, number=str(got))
        except NothingDone as e:
            say(id=r["id"], fail=str(e))
        except Exception as e:
            say(id=r["id"], info=repr(e))


def main(kind):
    init, clients = None, {}
    for line in sys.stdin.buffer:
        r = json.loads(line)
        if r["do"] == "init":
            init = r
            say(id=r["id"], ok=True, version=1, can=kind.can, symmetric=kind.symmetric, clock=getattr(kind, "clock", "asked"))
        elif r["do"] == "reset":
            say(id=r["id"], ok=True)
        else:
            if r["client"] not in clients:
                make = lambda: kind(init["redis"], init.get("timeout_ms", 0) / 1000 or None)
                clients[r["client"]] = queue.SimpleQueue()
                threading.Thread(target=work, args=(clients[r["client"]], make), daemon=True).start()
            clients[r["client"]].put(r)


if __name__ == "__main__":
    main(Lock)
