"""A message filter in Python (redis-py) for doublegrant: doublegrant explore -- python3 dedup.py

To test your own filter, change the class Dedup. A claim says whether the message is new; it is marked once it was delivered.
"""
import redis
from lock import main


class Dedup:
    """The filter of one client."""

    can = ["claim", "confirm"]  # leave confirm out if a claim marks for good
    symmetric = True

    def __init__(self, url, timeout):
        self.redis = redis.Redis.from_url(url, socket_timeout=timeout)

    def claim(self, key, ttl_ms):  # for a lease, which is over sooner than the window; without confirm: for the window
        return self.redis.set(key, "claimed", nx=True, px=ttl_ms) is True

    def confirm(self, key, ttl_ms):  # for the window
        return self.redis.set(key, "done", px=ttl_ms) is True


if __name__ == "__main__":
    main(Dedup)
