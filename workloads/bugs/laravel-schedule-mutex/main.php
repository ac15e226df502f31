<?php
// The mutex of Laravel's scheduled events, unmodified. Its lease is in whole minutes.

require __DIR__ . '/serve.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require 'Illuminate/Console/Scheduling/EventMutex.php';
require 'Illuminate/Console/Scheduling/CacheAware.php';
require 'Illuminate/Console/Scheduling/CacheEventMutex.php';

eval('namespace Illuminate\Console\Scheduling; class Event {
    public $expiresAt = 1; public $name;
    public function mutexName() { return $this->name; }
}'); // the two members of an event that the mutex reads

use Illuminate\Cache\{RedisStore, Repository};
use Illuminate\Console\Scheduling\{CacheEventMutex, Event};
use Illuminate\Contracts\Redis\Factory;
use Illuminate\Redis\Connections\PhpRedisConnection;

// One gives the store a connection that is there already.
class One implements Factory
{
    public function __construct(private Redis $redis) {}

    public function connection($name = null) { return new PhpRedisConnection($this->redis); }
}

// Stores gives the mutex its cache.
class Stores implements Illuminate\Contracts\Cache\Factory
{
    public function __construct(private Repository $cache) {}

    public function store($name = null) { return $this->cache; }
}

function operate(Redis $redis, array $r): bool
{
    $mutex = new CacheEventMutex(new Stores(new Repository(new RedisStore(new One($redis)))));
    $event = new Event();
    $event->name = $r['key'];
    if ($r['do'] === 'acquire') {
        return $mutex->create($event);
    }
    $mutex->forget($event);
    return true;
}

serve(['acquire', 'release'], 'phpredis', 'operate');
