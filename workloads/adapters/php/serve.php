<?php
// Speaks the protocol for a program in PHP, which does one thing at a time:
// https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md

function say(array $answer): void
{
    fwrite(STDOUT, json_encode($answer) . "\n");
}

// phpredis connects as init says.
function phpredis(array $init): Redis
{
    ['host' => $host, 'port' => $port] = parse_url($init['redis']);
    $redis = new Redis();
    $redis->connect($host, $port, 0, null, 0, ($init['timeout_ms'] ?? 0) / 1000); // 0: wait for as long as it takes
    $redis->setOption(Redis::OPT_MAX_RETRIES, 0); // a command is sent once
    return $redis;
}

// serve answers until standard input ends. $operate gets what $connect makes of init, and the request. It returns whether it
// was done, and throws if nobody knows.
function serve(array $can, callable $connect, callable $operate): void
{
    $redis = null;
    while (($line = fgets(STDIN)) !== false) {
        $r = json_decode($line, true);
        $yes = ['id' => $r['id'], 'ok' => true];
        if ($r['do'] === 'init') {
            $init = $r;
            say($yes + ['version' => 1, 'can' => $can, 'symmetric' => true, 'clients' => 1]);
        } elseif ($r['do'] === 'reset') {
            say($yes);
        } else {
            try {
                $redis ??= $connect($init);
                say(['id' => $r['id']] + answered($redis, fn () => $operate($redis, $r)));
            } catch (Exception $e) {
                $redis = null;
                say(['id' => $r['id'], 'info' => $e->getMessage() ?: 'closed']);
            }
        }
    }
}

// answered returns what came of an operation. phpredis returns false where Redis answers with an error.
function answered(object $redis, callable $do): array
{
    if (!$redis instanceof Redis) {
        return ['ok' => $do()];
    }
    $redis->clearLastError();
    $ok = $do();
    $error = $redis->getLastError();
    return $error === null ? ['ok' => $ok] : ['info' => $error];
}
