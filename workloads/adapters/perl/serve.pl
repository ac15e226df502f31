# Speaks the protocol for a program in Perl, which serves one client at a time:
# https://github.com/doublegrant/doublegrant/blob/main/workloads/adapters/README.md
use strict;
use warnings;
use JSON::PP;

my $json = JSON::PP->new->canonical;

sub say_line { print $json->encode({@_}), "\n" }

# serve answers until standard input ends. connect makes what each operation is called with, from a host and port; the other
# names are those of operations, which return whether it was done, and die if nobody knows.
sub serve {
    my %does = @_;
    my $connect = delete $does{connect};
    my ($to, $redis);
    $| = 1;
    while (my $line = <STDIN>) {
        my $r = $json->decode($line);
        if ($r->{do} eq 'init') {
            ($to) = $r->{redis} =~ m{^redis://([^/]+)};
            say_line(id => $r->{id}, ok => JSON::PP::true, version => 1, can => [sort keys %does],
                symmetric => JSON::PP::true, clients => 1);
        } elsif ($r->{do} eq 'reset') {
            say_line(id => $r->{id}, ok => JSON::PP::true);
        } elsif (!eval {
            $redis //= $connect->($to);
            my $ok = $does{$r->{do}}->($redis, $r) ? JSON::PP::true : JSON::PP::false;
            say_line(id => $r->{id}, ok => $ok);
            1;
        }) {
            undef $redis;
            say_line(id => $r->{id}, info => "$@");
        }
    }
}

1;
