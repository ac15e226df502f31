-- Mark a message as delivered, if the claim on it is still the caller's.
-- KEYS[1]  message
-- ARGV[1]  token of the claim
-- ARGV[2]  window in milliseconds
-- returns  1 marked, 0 the claim had ended or was another's
-- source   this project
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('set', KEYS[1], 'done', 'PX', ARGV[2])
return 1
