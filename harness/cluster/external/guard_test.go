package external

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandsThatAreSent(t *testing.T) {
	for _, line := range []string{
		"", "SET p:k v", "get p:k", "DEL p:a p:b", "MSET p:a x p:b y", "EVALSHA 1234 2 p:a p:b outside", "EVAL text 0",
		"BLPOP p:a p:b 0", "HELLO 2", "AUTH u p", "SELECT 3", "CLIENT SETINFO LIB-NAME x", "SCRIPT LOAD return",
		"MULTI", "EXEC", "WAIT 1 20", "SUBSCRIBE p:c", "SUBSCRIBE +switch-master p:c",
		"SENTINEL GET-MASTER-ADDR-BY-NAME m", "SENTINEL sentinels m", "UNSUBSCRIBE",
	} {
		require.NoError(t, check(strings.Fields(line), "p:"), line)
	}
	for line, want := range map[string]string{
		"SET k v": "outside", "DEL p:a b": "outside", "MSET p:a x b y": "outside", "EVALSHA 1234 2 p:a b": "outside",
		"EVAL x 2 p:a": "fewer arguments", "EVAL x": "no number", "EVAL x many p:a": "fewer", "EVAL x -1 p:a": "fewer",
		"BLPOP p:a b 0": "outside", "SUBSCRIBE c": "outside", "SUBSCRIBE +x c": "outside",
		"SENTINEL FAILOVER m": "not among", "PUBLISH c p:m": "outside", "GET": "names no key", "DEL": "names no key",
		"BLPOP p:a": "names no key", "FLUSHALL": "not among", "FLUSHDB": "not among", "CONFIG SET save 1": "not among",
		"DEBUG SLEEP 1": "not among", "KEYS *": "not among", "SCRIPT FLUSH": "not among", "CLIENT KILL x": "not among",
		"CLIENT PAUSE 1": "not among", "SHUTDOWN": "not among", "SCAN 0": "not among", "SORT p:k STORE k": "not among",
		"RENAME p:k k": "not among", "COPY p:k k": "not among", "SWAPDB 0 1": "not among",
		"REPLICAOF NO ONE": "not among", "CLIENT": "not among",
	} {
		require.ErrorContains(t, check(strings.Fields(line), "p:"), want, line)
	}
}

// guarded returns a guarded connection, a function that closes it and returns what reached its far end, and the errors
// of commands that must not be sent.
func guarded(t *testing.T) (g net.Conn, sent func() string, told *[]error) {
	near, far := net.Pipe()
	told = new([]error)
	g = guard(near, "p:", func(err error) { *told = append(*told, err) })
	got := make(chan string, 1)
	go func() { b, _ := io.ReadAll(far); got <- string(b) }()
	t.Cleanup(func() { g.Close(); far.Close() })
	return g, func() string { g.Close(); return <-got }, told
}

func resp(line string) string {
	words := strings.Fields(line)
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// TestAGuardSeesCommandsHoweverTheyAreWritten splits the written bytes at every position.
func TestAGuardSeesCommandsHoweverTheyAreWritten(t *testing.T) {
	good, bad := resp("SET p:k v")+resp("GET p:k"), resp("SET other v")
	for cut := range len(good) + len(bad) {
		g, sent, told := guarded(t)
		all := good + bad
		_, err := g.Write([]byte(all[:cut]))
		if err == nil {
			_, err = g.Write([]byte(all[cut:]))
		}
		require.ErrorIs(t, err, ErrNotSent)
		require.Len(t, *told, 1)
		_, err = g.Write([]byte(resp("GET p:k")))
		require.ErrorIs(t, err, ErrNotSent, "the connection is over")
		require.Len(t, *told, 1)
		require.NotContains(t, sent(), bad, "cut at %d", cut)
	}
	g, sent, told := guarded(t)
	for _, b := range []byte(good) {
		_, err := g.Write([]byte{b})
		require.NoError(t, err)
	}
	require.Equal(t, good, sent())
	require.Empty(t, *told)
}

func TestAGuardRefusesWhatIsNoCommand(t *testing.T) {
	for _, text := range []string{
		"FLUSHALL\r\n", "*1\r\nFLUSHALL\r\n", "*x\r\n", "*-1\r\n", "$3\r\nGET\r\n", "*1\r\n$3\r\nGETx\r\n",
		"*1\r\n$99999999\r\n",
		strings.Repeat("*", 30),
	} {
		g, sent, told := guarded(t)
		_, err := g.Write([]byte(text))
		require.ErrorIs(t, err, ErrNotSent, text)
		require.Len(t, *told, 1, text)
		require.Empty(t, sent(), text)
	}
}

func TestPatternsTakeNothingOfAPrefixForAJoker(t *testing.T) {
	require.Equal(t, `doublegrant:1:*`, pattern("doublegrant:1:"))
	require.Equal(t, `a\*b\?c\[d\]e\\*`, pattern(`a*b?c[d]e\`))
}
