"""A lock in Python that waits for its release by pub/sub: doublegrant explore -- python3 pubsub_lock.py

Who is refused subscribes, tries again, waits for a message no longer than a quarter of the lease, and tries a last time. Before it reads a
message it asks, since a search decides when one comes. The rest of the lock is what it would be without a search.
"""
from lock import Lock, ask, main

RELEASE = '''if redis.call("get", KEYS[1]) == ARGV[1] then
    redis.call("del", KEYS[1])
    redis.call("publish", KEYS[2], "released")
    return 1
end
return 0'''


def channel(key):
    return "released:" + key


class Messages:
    """A connection that subscribes. Close it in the end of each wait: one that is left is closed whenever Python collects its garbage."""

    def __init__(self, redis):
        self.pubsub = redis.pubsub()

    def listen(self, name):
        self.pubsub.subscribe(name)  # which does not wait for the confirmation
        self.pubsub.parse_response()  # it comes as the answer of any command: nothing to ask for

    def wait(self, ms):
        """Returns a message; None after ms, of which 0 is for ever, or if its thread was stopped."""
        if not ask("message", timeout_ms=ms).get("message"):
            return None  # a search says that none came; read nothing, in no time
        return self.pubsub.get_message(timeout=ms / 1000 or None)  # in a search it is there; under load this is where it waits

    def close(self):
        self.pubsub.close()


class PubSubLock(Lock):
    can = ["acquire", "release"]
    any_thread = False  # somebody has to read while an operation asks for something

    def acquire(self, key, owner, ttl_ms):
        if super().acquire(key, owner, ttl_ms):
            return True
        released = Messages(self.redis)
        try:
            released.listen(channel(key))
            if super().acquire(key, owner, ttl_ms):  # it may have been released before anybody listened
                return True
            released.wait(ttl_ms // 4)
            return super().acquire(key, owner, ttl_ms)
        finally:
            released.close()

    def release(self, key, owner):
        return self.redis.eval(RELEASE, 2, key, channel(key), owner) == 1


if __name__ == "__main__":
    main(PubSubLock)
