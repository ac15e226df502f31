"""A lock in Python (redis-py) for doublegrant: doublegrant explore -- python3 lock.py

To test your own lock, change the class Lock. The rest speaks the protocol:
https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md
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
    any_thread = True  # it keeps nothing by thread, as redis-py's own Lock does (redis_py_lock.py)
    keeps_state = False  # True: what it keeps decides what it does later, so each schedule of a search begins with new ones

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


here = threading.local()  # id: of the operation or thread of the protocol that goes on in this thread
told = {}  # queues of what these are told, by id
begins = {}  # the same of threads: what to do


def ask(what, **more):
    """Asks the harness for something while an operation is under way, and waits. Not with any_thread, where nobody reads meanwhile."""
    told.setdefault(here.id, queue.SimpleQueue())
    say(id=here.id, ask=what, **more)
    return told[here.id].get()


class Beside:
    """A thread beside the operations, such as a watchdog, which a search knows: it calls do."""

    def __init__(self, do):
        self.id = ask("start")["thread"]
        begins.setdefault(self.id, queue.SimpleQueue()).put(do)

    def stop(self):  # its sleeps are over from now on
        ask("stop", thread=self.id)

    def join(self):
        ask("join", thread=self.id)

    @staticmethod
    def sleep(ms):  # in do; False: it was stopped, and has to end
        return not ask("sleep", ms=ms).get("stopped")


def run(id):
    here.id = id
    try:
        begins.setdefault(id, queue.SimpleQueue()).get()()
        say(id=id, ok=True)
    except Exception as e:
        say(id=id, info=repr(e))
    del begins[id]
    told.pop(id, None)


def operate(lock, r):
    here.id = r["id"]
    arguments = {k: v for k, v in r.items() if k in ("key", "owner", "ttl_ms", "proposed")}
    try:
        got = getattr(lock, r["do"])(**arguments)
        if isinstance(got, bool):  # what most answers are, without the detour through json
            os.write(1, b'{"id":%d,"ok":%s}\n' % (r["id"], b"true" if got else b"false"))
        elif r["do"] == "next":
            say(id=r["id"], ok=True, number=str(got))
        else:
            raise TypeError(f"{r['do']} returned {got!r}, and has to return True or False")
    except NothingDone as e:
        say(id=r["id"], fail=str(e))
    except Exception as e:
        say(id=r["id"], info=repr(e))
    told.pop(r["id"], None)


def work(requests, make):
    """The thread of one client, if it has to be always the same."""
    lock = make()
    for r in iter(requests.get, None):
        operate(lock, r)


class Program:
    """Threads take turns to read a line, and do what it asks for. So nobody has to be woken who is not reading."""

    def __init__(self, kind):
        self.kind, self.init, self.turn, self.clients = kind, None, threading.Lock(), {}
        self.readers = 1  # threads that read lines
        self.masters = getattr(kind, "masters", 0)  # that it asks at least; 0: it uses one Redis (redlock.py)

    def make(self):
        to = self.init.get("masters", [self.init["redis"]]) if self.masters else self.init["redis"]
        return self.kind(to, self.init.get("timeout_ms", 0) / 1000 or None)

    def forget(self):
        for c in self.clients.values():
            if isinstance(c, queue.SimpleQueue):
                c.put(None)  # its thread ends
        self.clients = {}

    def serve(self):
        while True:
            with self.turn:
                line = sys.stdin.buffer.readline()
            if not line:
                os._exit(0)
            self.heed(json.loads(line))

    def heed(self, r):
        kind = self.kind
        if "do" not in r:
            told[r["id"]].put(r)
        elif r["do"] == "run":
            threading.Thread(target=run, args=(r["id"],), daemon=True).start()
        elif r["do"] == "init":
            self.init = r
            say(id=r["id"], ok=True, version=1, can=kind.can, symmetric=kind.symmetric, clock=getattr(kind, "clock", "asked"),
                masters=self.masters, reset=getattr(kind, "keeps_state", False))
        elif r["do"] == "reset":
            self.forget()
            say(id=r["id"], ok=True)
        elif getattr(kind, "any_thread", False):
            if r["client"] not in self.clients:
                self.clients[r["client"]] = self.make()
                if len(self.clients) > self.readers:  # as many threads as clients
                    self.readers += 1
                    threading.Thread(target=self.serve, daemon=True).start()
            operate(self.clients[r["client"]], r)
        else:
            if r["client"] not in self.clients:
                self.clients[r["client"]] = queue.SimpleQueue()
                threading.Thread(target=work, args=(self.clients[r["client"]], self.make), daemon=True).start()
            self.clients[r["client"]].put(r)


def main(kind):
    Program(kind).serve()


if __name__ == "__main__":
    main(Lock)
