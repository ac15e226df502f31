<?php
// A lock in PHP (phpredis) for doublegrant: doublegrant explore -- php lock.php
//
// To test your own lock, change the class Lock. The rest speaks the protocol:
// https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md

const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0';
const EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0';

// The lock of one client. Each method returns whether it was done, and throws if nobody knows.
class Lock
{
    const CAN = ['acquire', 'extend', 'release'];

    public function __construct(private Redis $redis) {}

    public function acquire(array $r): bool // try once; owner is a token that nobody else has
    {
        return $this->redis->set($r['key'], $r['owner'], ['nx', 'px' => $r['ttl_ms']]);
    }

    public function extend(array $r): bool
    {
        return $this->redis->eval(EXTEND, [$r['key'], $r['owner'], $r['ttl_ms']], 1) === 1;
    }

    public function release(array $r): bool
    {
        return $this->redis->eval(RELEASE, [$r['key'], $r['owner']], 1) === 1;
    }
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
    if ($r['do'] === 'init') {
        $init = $r;
        say(['id' => $r['id'], 'ok' => true, 'version' => 1, 'can' => Lock::CAN, 'symmetric' => true, 'clients' => 1]); // PHP does one thing at a time
        continue;
    }
    if ($r['do'] === 'reset') {
        say(['id' => $r['id'], 'ok' => true]);
        continue;
    }
    try {
        $redis ??= connect($init);
        $redis->clearLastError();
        $ok = (new Lock($redis))->{$r['do']}($r);
        $error = $redis->getLastError(); // phpredis returns false where Redis answers with an error
        say(['id' => $r['id']] + ($error === null ? ['ok' => $ok] : ['info' => $error]));
    } catch (RedisException $e) {
        $redis = null;
        say(['id' => $r['id'], 'info' => $e->getMessage() ?: 'closed']);
    }
}
