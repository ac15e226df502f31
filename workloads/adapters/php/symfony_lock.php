<?php
// Symfony's own lock, Symfony\Component\Lock\Store\RedisStore, unmodified: doublegrant explore -- php symfony_lock.php
//
// The library's calls of microtime and random_bytes find the functions below: the harness's clock, and tokens that are the same in each run.

namespace Symfony\Component\Lock {
    function microtime(bool $asFloat): float { return \Outside::now(); }
}

namespace Symfony\Component\Lock\Store {
    function microtime(bool $asFloat): float { return \Outside::now(); }
    function random_bytes(int $length): string { return str_pad(\Outside::$request['owner'], $length, '.'); }
}

namespace {
    require '/usr/share/php/Symfony/Component/Lock/autoload.php';

    use Symfony\Component\Lock\Exception\{ExceptionInterface, LockConflictedException};
    use Symfony\Component\Lock\{Key, Lock, Store\RedisStore};

    class Outside
    {
        public static array $request; // the operation that is under way

        public static function say(array $answer): void { fwrite(STDOUT, json_encode($answer) . "\n"); }

        public static function now(): float // seconds on the harness's clock
        {
            self::say(['id' => self::$request['id'], 'ask' => 'now']);
            return json_decode(fgets(STDIN), true)['now_ms'] / 1000;
        }
    }

    function connect(array $init): Redis
    {
        ['host' => $host, 'port' => $port] = parse_url($init['redis']);
        $redis = new Redis();
        $redis->connect($host, $port, 0, null, 0, ($init['timeout_ms'] ?? 0) / 1000); // 0: wait for as long as it takes
        $redis->setOption(Redis::OPT_MAX_RETRIES, 0); // a command is sent once
        return $redis;
    }

    function store(Redis $redis, float $ttl): RedisStore
    {
        $store = new RedisStore($redis, $ttl);
        $known = new ReflectionProperty($store, 'supportTime'); // as after its first command, which asks whether scripts may use TIME
        $known->setAccessible(true);
        $known->setValue($store, true);
        return $store;
    }

    $redis = $lock = null;
    while (($line = fgets(STDIN)) !== false) {
        $r = Outside::$request = json_decode($line, true);
        $yes = ['id' => $r['id'], 'ok' => true];
        try {
            switch ($r['do']) {
                case 'init':
                    $init = $r;
                    Outside::say($yes + ['version' => 1, 'can' => ['acquire', 'extend', 'release'], 'symmetric' => true, 'clients' => 1]);
                    continue 2;
                case 'acquire':
                    $redis ??= connect($init);
                    $lock = new Lock(new Key($r['key']), store($redis, $r['ttl_ms'] / 1000), $r['ttl_ms'] / 1000, false);
                    Outside::say(['id' => $r['id'], 'ok' => $lock->acquire()]);
                    continue 2;
                case 'extend':
                    $lock->refresh();
                    break;
                case 'release':
                    $lock->release();
                    break;
            }
            Outside::say($yes);
        } catch (LockConflictedException $e) {
            Outside::say(['id' => $r['id'], 'ok' => false]);
        } catch (RedisException | ExceptionInterface $e) {
            $redis = null; // the library keeps the reason to itself, and the connection may have been lost
            Outside::say(['id' => $r['id'], 'info' => $e->getMessage() ?: 'closed']);
        }
    }
}
