# A lock in Ruby (redis-rb) for doublegrant: doublegrant explore -- ruby lock.rb
#
# To test your own lock, change the class Lock. The rest speaks the protocol:
# https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md
require 'json'
require 'redis'

RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'

# The lock of one client. Each method returns whether it was done, and raises if nobody knows. One thread at a time calls it, not always
# the same.
class Lock
  CLOCK = 'asked' # it reads none; 'preloaded' if it reads the machine's, or sleeps
  CAN = %w[acquire extend release].freeze

  def initialize(url, timeout) # timeout in seconds
    @redis = Redis.new(url: url, timeout: timeout, reconnect_attempts: 0)
  end

  def acquire(r) = @redis.set(r['key'], r['owner'], nx: true, px: r['ttl_ms']) # try once; owner is a token that nobody else has

  def extend(r) = @redis.eval(EXTEND, keys: [r['key']], argv: [r['owner'], r['ttl_ms']]) == 1

  def release(r) = @redis.eval(RELEASE, keys: [r['key']], argv: [r['owner']]) == 1
end

MUTEX = Mutex.new

def say(answer)
  MUTEX.synchronize { $stdout.write(JSON.generate(answer) + "\n") }
end

def operate(lock, r)
  say(id: r['id'], ok: lock.public_send(r['do'], r))
rescue StandardError => e
  say(id: r['id'], info: e.inspect)
end

TURN = Mutex.new
CLIENTS = {}

# Threads take turns to read a line, and do what it asks for: as many threads as clients. In a search there is one.
def serve
  loop do
    line = TURN.synchronize { $stdin.gets } or exit!(0)
    heed(JSON.parse(line))
  end
end

def heed(r)
  case r['do']
  when 'init'
    $init = r
    say(id: r['id'], ok: true, version: 1, can: $kind::CAN, symmetric: true, clock: $kind::CLOCK)
  when 'reset'
    say(id: r['id'], ok: true)
  else
    operate(CLIENTS[r['client']] ||= join, r)
  end
end

# join makes the lock of one more client, and the thread that it needs.
def join
  Thread.new { serve } unless CLIENTS.empty?
  $kind.new($init['redis'], ($init['timeout_ms'] || 600_000) / 1000.0)
end

$stdout.sync = true
$kind ||= Lock # a program that requires this file may have set another class
serve
