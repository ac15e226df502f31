# Two writes of one entry with unless_exist, on a Redis at 127.0.0.1:6379.
require 'active_support'
require 'active_support/cache/redis_store'

cache = ActiveSupport::Cache::RedisStore.new('redis://127.0.0.1:6379')
cache.delete('example')
2.times { p cache.write('example', 1, unless_exist: true, expires_in: 60) } # both true; the second should be false
