# A message filter that is one SET NX of Redis::Fast, unmodified, which connects again by itself.
use strict;
use warnings;
use FindBin;
use Redis::Fast;
require "$FindBin::Bin/serve.pl";

serve(
    connect => sub { Redis::Fast->new(server => shift, reconnect => 2, every => 1_000) },
    claim => sub {
        my ($redis, $r) = @_;
        return $redis->set($r->{key}, 'seen', 'NX', 'PX', $r->{ttl_ms});
    },
);
