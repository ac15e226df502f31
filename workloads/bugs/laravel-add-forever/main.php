<?php
// A message filter by Cache::add of Laravel, unmodified, which marks for ever.

require __DIR__ . '/serve.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\{RedisStore, Repository};
use Illuminate\Contracts\Redis\Factory;
use Illuminate\Redis\Connections\PhpRedisConnection;

// One gives the store a connection that is there already.
class One implements Factory
{
    public function __construct(private Redis $redis) {}

    public function connection($name = null) { return new PhpRedisConnection($this->redis); }
}

function operate(Redis $redis, array $r): bool
{
    return (new Repository(new RedisStore(new One($redis))))->add($r['key'], 'seen');
}

serve(['claim'], 'phpredis', 'operate');
