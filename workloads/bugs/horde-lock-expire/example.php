<?php
// Three owners of Horde's lock, on a Redis at 127.0.0.1:6379. It takes 31 seconds.
require 'Predis/autoload.php';
require 'Horde/HashTable/Base.php';
require 'Horde/HashTable/Lock.php';
require 'Horde/HashTable/Predis.php';

$owner = fn () => new Horde_HashTable_Predis(['predis' => new Predis\Client()]);
[$first, $second, $third] = [$owner(), $owner(), $owner()];
$first->lock('example');
sleep(31); // it works for longer than the lock lasts
$second->lock('example');
$first->unlock('example');
$third->lock('example'); // at once, and should wait for the second
echo "the second and the third have the lock\n";

// A lock whose owner dies between SETNX and EXPIRE stays for ever:
//     redis-cli SETNX hht_1a79a4d60de6718e8e5b326e338ae533_l 1    # of the key "example"
