# A message filter by create of moneta's adapter for Redis, unmodified.
require 'moneta'
require 'moneta/adapters/redis'

class Filter
  CLOCK = 'asked'.freeze
  CAN = %w[claim].freeze

  def initialize(url, timeout)
    @store = Moneta::Adapters::Redis.new(url: url, timeout: timeout, reconnect_attempts: 0)
  end

  def claim(r) = @store.create(r['key'], 'seen', expires: r['ttl_ms'] / 1000.0)
end

$kind = Filter
require_relative 'lock'
