-- Take a lock, with a lease; the answer is a boolean.
-- KEYS[1]  lock
-- ARGV[1]  owner's token
-- ARGV[2]  lease in seconds
-- returns  true taken: 1 in RESP2; false held: nil in RESP2
-- source   the CSDN collection on Redis locks (SETNX_EXPIRE.lua)
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  redis.call('expire', KEYS[1], ARGV[2])
  return true
end
return false
