package granttest

import (
	"log"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noted keeps what a test logs.
type noted struct {
	TB
	logs []string
}

func (*noted) Helper() {}

func (n *noted) Logf(format string, _ ...any) { n.logs = append(n.logs, format) }

// A log is bounded for as long as some test bounds it, and whole again afterwards.
func TestALogIsBounded(t *testing.T) {
	var out strings.Builder
	before := log.Writer()
	log.SetOutput(&out)
	defer log.SetOutput(before)
	quiet, first, second := &noted{}, &noted{}, &noted{}
	boundLog(quiet)()
	require.Empty(t, quiet.logs, "nobody has logged anything")
	ends := []func(){boundLog(first), boundLog(second)}
	for range mostLogged {
		log.Print("connection lost")
	}
	boundLog(quiet)()
	require.Empty(t, quiet.logs, "nothing was left out meanwhile")
	log.Print("a line\nand another")
	ends[0]()
	log.Print("one more")
	require.Equal(t, mostLogged, strings.Count(out.String(), "\n"))
	require.Len(t, first.logs, 1)
	ends[1]()
	require.Len(t, second.logs, 1)
	log.Print("it is over")
	require.Contains(t, out.String(), "it is over")
	require.NotContains(t, out.String(), "one more")

	own := boundLog(first)
	var other strings.Builder
	log.SetOutput(&other) // by the code under test
	own()
	require.Equal(t, &other, log.Writer(), "that is left alone")
}
