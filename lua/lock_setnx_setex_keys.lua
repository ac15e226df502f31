-- Take a lock, with a lease. Known to be wrong on a Cluster: KEYS[2] and KEYS[3] are no keys.
-- KEYS[1]  lock
-- KEYS[2]  lease in seconds
-- KEYS[3]  owner's token
-- returns  status OK taken, the string 'faild' held
-- source   "Lua in Redis"
if redis.call('setnx', KEYS[1], KEYS[3]) == 1 then
  return redis.call('setex', KEYS[1], KEYS[2], KEYS[3])
end
return 'faild'
