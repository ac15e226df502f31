package clients

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestWhatIsTakenForAWrite(t *testing.T) {
	for request, want := range map[string]bool{
		"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n":  true,
		"*3\r\n$7\r\nevalsha\r\n$1\r\nk\r\n":         true,
		"*1\r\n$5\r\nmulti\r\n*3\r\n$3\r\nset\r\n":   true, // a replica refuses the commands in it
		"*2\r\n$3\r\nget\r\n$1\r\nk\r\n":             false,
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n":             false,
		"*3\r\n$6\r\nclient\r\n$7\r\nsetinfo\r\n":    false,
		"*3\r\n$6\r\nscript\r\n$4\r\nload\r\n":       false,
		"*2\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n":       false,
		"the second half of a value that was large ": false,
	} {
		require.Equal(t, want, isWrite([]byte(request)), "%q", request)
	}
}

func TestWhatIsTakenForARefusal(t *testing.T) {
	for replies, want := range map[string]bool{
		// a value may begin so; the next write is recorded
		"+OK\r\n": false, ":1\r\n": false, "$-1\r\n": false, "*-1\r\n": false, "$2\r\n-1\r\n": true,
		"-READONLY You can't write\r\n":                                            true,
		"+OK\r\n-READONLY You can't write\r\n-EXECABORT Transaction discarded\r\n": true,
	} {
		require.Equal(t, want, hasError([]byte(replies)), "%q", replies)
	}
}

// TestWhoServesAGroup plays requests and answers of one group on connections to two nodes.
func TestWhoServesAGroup(t *testing.T) {
	var told []string
	all := newServices(1, func(kind string, group int, node string) {
		if kind == harness.EventServesWrites {
			told = append(told, node+" "+GroupName(group))
		}
	})
	r1, r2 := &knownNode{name: "r1"}, &knownNode{name: "r2"}
	on := func(n *knownNode) *line {
		near, far := net.Pipe()
		return &line{watchedConn{Conn: near, node: n, service: all[0]}, far}
	}
	const set, get = "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n", "*2\r\n$3\r\nget\r\n$1\r\nk\r\n"
	first, late, second := on(r1), on(r1), on(r2)
	first.exchange(t, get, "$-1\r\n")
	require.Empty(t, told, "any replica answers a read")
	first.exchange(t, set, "+OK\r\n")
	first.exchange(t, set, "+OK\r\n")
	require.Equal(t, []string{"r1 g0"}, told)
	second.exchange(t, set, "-READONLY You can't write\r\n")
	require.Equal(t, []string{"r1 g0"}, told, "it was refused")
	late.ask(t, set)
	second.exchange(t, set, "+OK\r\n")
	late.answer(t, "+OK\r\n")
	require.Equal(t, []string{"r1 g0", "r2 g0"}, told, "what was asked before the group moved on is no way back")
	first.exchange(t, set, "+OK\r\n")
	require.Equal(t, []string{"r1 g0", "r2 g0", "r1 g0"}, told, "what was asked afterwards is")
	all.forgetWriter("r2")
	all.forgetWriter("r1")
	first.exchange(t, set, "+OK\r\n")
	require.Equal(t, []string{"r1 g0", "r2 g0", "r1 g0", "r1 g0"}, told, "it took none in between")
}

// line is a connection of the group. The test writes the node's answers at the other end.
type line struct {
	watchedConn
	far net.Conn
}

func (l *line) ask(t *testing.T, request string) {
	t.Helper()
	go func() { _, _ = l.far.Read(make([]byte, 200)) }()
	_, err := l.Write([]byte(request))
	require.NoError(t, err)
}

func (l *line) answer(t *testing.T, reply string) {
	t.Helper()
	go func() { _, _ = l.far.Write([]byte(reply)) }()
	_, err := l.Read(make([]byte, 200))
	require.NoError(t, err)
}

func (l *line) exchange(t *testing.T, request, reply string) {
	t.Helper()
	l.ask(t, request)
	l.answer(t, reply)
}

// TestWhoAnswersAGroup checks that reads and refusals count as answers too.
func TestWhoAnswersAGroup(t *testing.T) {
	var told []string
	all := newServices(1, func(kind string, _ int, node string) { told = append(told, kind+" "+node) })
	r1, r2 := &knownNode{name: "r1"}, &knownNode{name: "r2"}
	on := func(n *knownNode) *line {
		near, far := net.Pipe()
		return &line{watchedConn{Conn: near, node: n, service: all[0]}, far}
	}
	const set, get, hello = "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n", "*2\r\n$3\r\nget\r\n$1\r\nk\r\n",
		"*2\r\n$5\r\nhello\r\n$1\r\n2\r\n"
	first, second := on(r1), on(r2)
	first.exchange(t, hello, "*0\r\n")
	require.Empty(t, told, "it asked for no data")
	first.exchange(t, set, "+OK\r\n")
	require.Equal(t, []string{"answers r1", "serves r1"}, told)
	all[0].reportedAt = time.Now().Add(-answersEvery) // just long enough ago
	second.exchange(t, get, "$-1\r\n")
	second.exchange(t, set, "-READONLY You can't write\r\n")
	require.Equal(t, []string{"answers r1", "serves r1", "answers r2"}, told,
		"r1 still is the one that acknowledged a write")
	all[0].reportedAt = time.Now().Add(time.Hour) // too recent, also on a busy machine
	first.exchange(t, get, "$-1\r\n")
	second.exchange(t, get, "$-1\r\n")
	require.Len(t, told, 3, "they take turns")
	all[0].reportedAt = time.Time{}
	first.exchange(t, get, "$-1\r\n")
	require.Equal(t, "answers r1", told[len(told)-1])
}
