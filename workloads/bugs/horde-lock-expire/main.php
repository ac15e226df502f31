<?php
// The lock of Horde's hash table on Predis, unmodified.

error_reporting(E_ALL & ~E_DEPRECATED);
require __DIR__ . '/serve.php';
require 'Predis/autoload.php';
require 'Horde/HashTable/Base.php';
require 'Horde/HashTable/Lock.php';
require 'Horde/HashTable/Predis.php';

// Busy says that the lock is another's.
class Busy extends Exception {}

// TriesOnce is a client of Redis. Where the lock would sleep and try again, it throws instead.
class TriesOnce extends Predis\Client
{
    public function setnx($key, $value)
    {
        return parent::setnx($key, $value) ?: throw new Busy();
    }
}

function connect(array $init): Horde_HashTable_Predis
{
    ['host' => $host, 'port' => $port] = parse_url($init['redis']);
    $timeout = ($init['timeout_ms'] ?? 0) / 1000 ?: -1; // -1: wait for as long as it takes
    return new Horde_HashTable_Predis(['predis' => new TriesOnce(
        ['host' => $host, 'port' => $port, 'read_write_timeout' => $timeout])]);
}

function operate(Horde_HashTable_Predis $table, array $r): bool
{
    if ($r['do'] === 'release') {
        $table->unlock($r['key']);
        return true;
    }
    try {
        $table->lock($r['key']); // for 30 s
        return true;
    } catch (Busy) {
        return false;
    }
}

serve(['acquire', 'release'], 'connect', 'operate');
