-- Release a lock and leave one signal for whoever waits for it.
-- KEYS[1]  lock, its owner's token
-- KEYS[2]  signals, a list from which one waiter pops one
-- ARGV[1]  owner's token
-- ARGV[2]  milliseconds that a signal is kept
-- returns  1 released, 0 it was gone or another's
-- source   python-redis-lock (UNLOCK_SCRIPT)
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('del', KEYS[2])
redis.call('lpush', KEYS[2], 1)
redis.call('pexpire', KEYS[2], ARGV[2])
redis.call('del', KEYS[1])
return 1
