# A message filter by Rails' cache on redis-activesupport, unmodified.
require 'active_support'
require 'active_support/cache/redis_store'

class Filter
  CLOCK = 'asked'.freeze
  CAN = %w[claim].freeze

  def initialize(url, timeout)
    @cache = ActiveSupport::Cache::RedisStore.new(url, timeout: timeout, reconnect_attempts: 0, raise_errors: true)
  end

  def claim(r) # timeouts are in whole seconds, rounded up
    @cache.write(r['key'], 'seen', unless_exist: true, expires_in: (r['ttl_ms'] / 1000.0).ceil) ? true : false
  end
end

$kind = Filter
require_relative 'lock'
