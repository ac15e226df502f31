"""A bare loop over the lock of ../python/lock.py: bare.py URL THREADS WARM SECONDS prints how many operations SECONDS had, after WARM.

Each thread has a connection and tries one of 5 locks after the other, as a client of doublegrant's load does.
"""
import os, random, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from lock import Lock

url, threads, warm, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
counts = [0] * threads


def loop(i):
    lock, attempt = Lock(url, 1), 0
    while True:
        key, attempt = "bare-%d" % random.randrange(5), attempt + 1
        owner = "%d-%d-%d" % (os.getpid(), i, attempt)
        granted = lock.acquire(key, owner, 1337)
        counts[i] += 1
        if granted:
            time.sleep(0.005)
            lock.release(key, owner)
            counts[i] += 1


for i in range(threads):
    threading.Thread(target=loop, args=(i,), daemon=True).start()
time.sleep(warm)
before, began = sum(counts), time.monotonic()
time.sleep(seconds)
print((sum(counts) - before) / (time.monotonic() - began), flush=True)
os._exit(0)
