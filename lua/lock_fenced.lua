-- Take a lock, with a lease and a fencing token larger than all before.
-- KEYS[1]  lock
-- KEYS[2]  counter of the tokens
-- ARGV[1]  owner's token
-- ARGV[2]  lease in milliseconds
-- returns  the fencing token, a string; nil held
-- source   Kleppmann 2016; Redis documentation, "Distributed locks"
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
redis.call('incr', KEYS[2])
return redis.call('get', KEYS[2])
