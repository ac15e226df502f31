"""A number generator in Python (redis-py) for doublegrant: doublegrant explore -- python3 sequence.py

To test your own generator, change the class Sequence.
"""
import redis
from lock import main


class Sequence:
    """The generator of one client."""

    can = ["next"]
    symmetric = False  # callers propose different numbers

    def __init__(self, url, timeout):
        self.redis = redis.Redis.from_url(url, socket_timeout=timeout)

    def next(self, key, proposed):  # proposed is a number that the caller would like; ignore it if you like
        return self.redis.incr(key)


if __name__ == "__main__":
    main(Sequence)
