<?php
// A message filter by Cache::add of Laravel, unmodified, which marks for ever.

require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\{RedisStore, Repository};
use Illuminate\Contracts\Redis\Factory;
use Illuminate\Redis\Connections\PhpRedisConnection;

const CAN = ['claim'];

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
