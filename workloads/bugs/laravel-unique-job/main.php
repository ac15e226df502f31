<?php
// The lock of Laravel's unique jobs, unmodified: a dispatch takes it, the end of the job gives it up.

require __DIR__ . '/serve.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require 'Illuminate/Contracts/Queue/ShouldBeUnique.php';
require 'Illuminate/Bus/UniqueLock.php';
require 'Illuminate/Queue/CallQueuedHandler.php';

use Illuminate\Bus\UniqueLock;
use Illuminate\Cache\{RedisStore, Repository};
use Illuminate\Contracts\Queue\ShouldBeUnique;
use Illuminate\Contracts\Redis\Factory;
use Illuminate\Queue\CallQueuedHandler;
use Illuminate\Redis\Connections\PhpRedisConnection;

// One gives the store a connection that is there already.
class One implements Factory
{
    public function __construct(private Redis $redis) {}

    public function connection($name = null) { return new PhpRedisConnection($this->redis); }
}

class Job implements ShouldBeUnique
{
    public function __construct(private Repository $cache, public string $uniqueId, public int $uniqueFor) {}

    public function uniqueVia() { return $this->cache; }
}

function operate(Redis $redis, array $r): bool
{
    $cache = new Repository(new RedisStore(new One($redis)));
    $job = new Job($cache, $r['key'], (int) ceil(($r['ttl_ms'] ?? 0) / 1000)); // uniqueFor is in whole seconds
    if ($r['do'] === 'acquire') {
        return (new UniqueLock($cache))->acquire($job);
    }
    $handler = (new ReflectionClass(CallQueuedHandler::class))->newInstanceWithoutConstructor();
    (new ReflectionMethod($handler, 'ensureUniqueJobLockIsReleased'))->invoke($handler, $job); // what call() ends with
    return true;
}

serve(['acquire', 'release'], 'phpredis', 'operate');
