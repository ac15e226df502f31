-- Read one page of a set, but only on a primary: the write before it is refused by a replica.
-- KEYS[1]  set
-- KEYS[2]  marker that is written
-- ARGV[1]  cursor, 0 to begin
-- returns  {next cursor, members}; the cursor is 0 after the last page
-- source   this project
redis.call('set', KEYS[2], '1')
return redis.call('sscan', KEYS[1], ARGV[1], 'COUNT', 10000)
