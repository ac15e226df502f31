-- Takes a lock that nobody holds. Put your own script in its place.
-- KEYS[1]  lock
-- ARGV[1]  owner's token
-- ARGV[2]  lease in milliseconds
-- returns  OK: granted; nil: another owner holds it
return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
