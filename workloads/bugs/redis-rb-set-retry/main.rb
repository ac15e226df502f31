# A message filter that is one SET NX of redis-rb, unmodified, with its default options.
require 'redis'

class Filter
  CLOCK = 'asked'.freeze
  CAN = %w[claim].freeze

  def initialize(url, timeout)
    @redis = Redis.new(url: url, timeout: timeout)
  end

  def claim(r) = @redis.set(r['key'], 'seen', nx: true, px: r['ttl_ms'])
end

$kind = Filter
require_relative 'lock'
