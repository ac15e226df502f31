<?php
// The mutex of Laravel's scheduled events, unmodified. Its lease is in whole minutes.

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

const CAN = ['acquire', 'release'];

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

function say(array $answer): void
{
    fwrite(STDOUT, json_encode($answer) . "\n");
}

function connect(array $init): Redis
{
    ['host' => $host, 'port' => $port] = parse_url($init['redis']);
    $redis = new Redis();
    $redis->connect($host, $port, 0, null, 0, ($init['timeout_ms'] ?? 0) / 1000); // 0: wait for as long as it takes
    $redis->setOption(Redis::OPT_MAX_RETRIES, 0); // a command is sent once
    return $redis;
}

$redis = null;
while (($line = fgets(STDIN)) !== false) {
    $r = json_decode($line, true);
    $yes = ['id' => $r['id'], 'ok' => true];
    if ($r['do'] === 'init') {
        $init = $r;
        say($yes + ['version' => 1, 'can' => CAN, 'symmetric' => true, 'clients' => 1]);
        continue;
    }
    if ($r['do'] === 'reset') {
        say($yes);
        continue;
    }
    try {
        $redis ??= connect($init);
        $redis->clearLastError();
        $ok = operate($redis, $r);
        $error = $redis->getLastError(); // phpredis returns false where Redis answers with an error
        say(['id' => $r['id']] + ($error === null ? ['ok' => $ok] : ['info' => $error]));
    } catch (RedisException $e) {
        $redis = null;
        say(['id' => $r['id'], 'info' => $e->getMessage() ?: 'closed']);
    }
}
