-- Releases a lock, if it is still its owner's. Put your own script in its place.
-- KEYS[1]  lock
-- ARGV[1]  owner's token
-- returns  1: released; 0: it is gone, or another owner's
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
