<?php
// Laravel's own lock, Cache::lock, unmodified: doublegrant explore -- php laravel_lock.php
//
// A lease is in whole seconds, rounded up.

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\PhpRedisLock;
use Illuminate\Redis\Connections\PhpRedisConnection;

function say(array $answer): void
{
    fwrite(STDOUT, json_encode($answer) . "\n");
}

function connect(array $init): PhpRedisConnection
{
    ['host' => $host, 'port' => $port] = parse_url($init['redis']);
    $redis = new Redis();
    $redis->connect($host, $port, 0, null, 0, ($init['timeout_ms'] ?? 0) / 1000); // 0: wait for as long as it takes
    $redis->setOption(Redis::OPT_MAX_RETRIES, 0); // a command is sent once
    return new PhpRedisConnection($redis);
}

$connection = null;
while (($line = fgets(STDIN)) !== false) {
    $r = json_decode($line, true);
    $yes = ['id' => $r['id'], 'ok' => true];
    if ($r['do'] === 'init') {
        $init = $r;
        say($yes + ['version' => 1, 'can' => ['acquire', 'release'], 'symmetric' => true, 'clients' => 1]);
        continue;
    }
    if ($r['do'] === 'reset') {
        say($yes);
        continue;
    }
    try {
        $connection ??= connect($init);
        $connection->client()->clearLastError();
        $lock = new PhpRedisLock($connection, $r['key'], (int) ceil(($r['ttl_ms'] ?? 0) / 1000), $r['owner']);
        $ok = $r['do'] === 'acquire' ? $lock->get() : $lock->release();
        $error = $connection->client()->getLastError(); // phpredis returns false where Redis answers with an error
        say(['id' => $r['id']] + ($error === null ? ['ok' => $ok] : ['info' => $error]));
    } catch (RedisException $e) {
        $connection = null;
        say(['id' => $r['id'], 'info' => $e->getMessage() ?: 'closed']);
    }
}
