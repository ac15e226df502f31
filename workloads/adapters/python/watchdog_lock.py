"""A lock in Python whose watchdog renews the lease: doublegrant explore -- python3 watchdog_lock.py

The watchdog is a thread with a connection of its own. It is started, sleeps and is stopped by the protocol, so that a search runs it in
every order with the rest.
"""
from lock import Beside, Lock, main


class WatchdogLock(Lock):
    can = ["acquire", "release"]
    any_thread = False  # somebody has to read while an operation asks for something
    watchdog = None

    def acquire(self, key, owner, ttl_ms):
        granted = super().acquire(key, owner, ttl_ms)
        if granted:
            self.watchdog = Beside(lambda: self.watch(key, owner, ttl_ms))
        return granted

    def watch(self, key, owner, ttl_ms):
        while Beside.sleep(ttl_ms // 3) and self.extend(key, owner, ttl_ms):  # it renews only what is there and its owner's
            pass

    def release(self, key, owner):
        if self.watchdog:
            self.watchdog.stop()  # a renewal that is under way comes all the same
        return super().release(key, owner)


if __name__ == "__main__":
    main(WatchdogLock)
