-- Renew a lock, or take it if it is free.
-- KEYS[1]  lock, its owner's token
-- ARGV[1]  owner's token
-- ARGV[2]  lease in milliseconds
-- returns  1 renewed or taken, 0 it is another's
-- source   RedLock.net (Extend.lua)
local owner = redis.call('get', KEYS[1])
if owner == false then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 1
end
if owner ~= ARGV[1] then
  return 0
end
return redis.call('pexpire', KEYS[1], ARGV[2])
