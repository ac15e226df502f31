-- Take a re-entrant lock, or enter once more what is the caller's.
-- KEYS[1]  lock, a hash of its owner's token and the number of entries
-- ARGV[1]  lease in milliseconds
-- ARGV[2]  owner's token
-- returns  nil taken, else what is left of the holder's lease in milliseconds
-- source   the CSDN collection on Redis locks (Redisson, tryLockInner)
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])
