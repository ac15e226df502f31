package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
)

// conversation returns a function that tries a block of lines to an adapter, which begin with "> ", and of its answers,
// which begin with "< ". The adapter has to answer with the same fields. Answers without a line between them may come
// in any order.
func conversation(adapter string) func(place, block) {
	return func(p place, b block) {
		pythonWithRedis(p.T)
		redis := clientstest.Start(p.T, clientstest.Options{})
		cmd := exec.CommandContext(p.Context(), python, filepath.Join(clients, adapter))
		in, err := cmd.StdinPipe()
		require.NoError(p, err)
		out, err := cmd.StdoutPipe()
		require.NoError(p, err)
		require.NoError(p, cmd.Start())
		answers := bufio.NewReader(out)
		if !strings.Contains(b.text, `"init"`) {
			fmt.Fprintf(in, `{"id":1,"do":"init","version":1,"redis":"redis://%s"}`+"\n", redis.Nodes[0].Announced)
			answer(p, answers)
		}
		exchange(p, b, redis, in, answers)
		require.NoError(p, in.Close())
		require.NoError(p, cmd.Wait())
	}
}

// exchange sends the block's lines and compares the answers. It kills Redis before a line whose answer is info.
func exchange(p place, b block, redis *clientstest.Deployment, in io.Writer, answers *bufio.Reader) {
	p.Helper()
	lines := strings.Split(b.text, "\n")
	for i := 0; i < len(lines); {
		var want, got []string
		for ; i < len(lines) && strings.HasPrefix(lines[i], "< "); i++ {
			want, got = append(want, fieldsOf(p, lines[i][2:])), append(got, answer(p, answers))
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(p, want, got, "before line %d", i+1)
		if i == len(lines) {
			return
		}
		if i+1 < len(lines) && strings.Contains(lines[i+1], `"info"`) {
			require.NoError(p, redis.Kill("r1"))
		}
		_, err := fmt.Fprintln(in, strings.Replace(firstJSON(p, lines[i][2:]), "127.0.0.1:41234",
			redis.Nodes[0].Announced, 1))
		require.NoError(p, err)
		i++
	}
}

// answer returns the fields of the next answer.
func answer(p place, answers *bufio.Reader) string {
	p.Helper()
	line, err := answers.ReadString('\n')
	require.NoError(p, err)
	return fieldsOf(p, line)
}

// firstJSON returns the JSON at the beginning of a line, which a comment may follow.
func firstJSON(p place, line string) string {
	p.Helper()
	var value json.RawMessage
	require.NoError(p, json.NewDecoder(strings.NewReader(line)).Decode(&value), line)
	return string(value)
}

// fieldsOf returns what must be the same in two answers: id, the question or the outcome, and the names of all fields
// that are not optional.
func fieldsOf(p place, line string) string {
	p.Helper()
	var all map[string]any
	require.NoError(p, json.Unmarshal([]byte(firstJSON(p, line)), &all))
	for _, optional := range []string{"clock", "masters", "reset"} {
		delete(all, optional)
	}
	return fmt.Sprint(all["id"], all["ask"], all["ok"], slices.Sorted(maps.Keys(all)))
}

// announcements tries a block of commands by which a test announces its operations. They announce a lock whatever SET
// answers, so a search has to find a double grant.
func announcements(p place, b block) {
	var commands []string
	for line := range strings.Lines(b.text) {
		command, _, _ := strings.Cut(line, "  #")
		commands = append(commands, strings.TrimSpace(command))
	}
	p.write("mytest.sh", "redis-cli -u $REDIS_URL <<'END'\n"+strings.Join(commands, "\n")+"\nEND\n")
	out, code := p.shell("doublegrant explore --announces --as lock --clients 2 --crashes 0 --expiries 0 --first -- " +
		"sh mytest.sh")
	require.Equal(p, 1, code, out)
	require.Contains(p, out, "double-grant")
}
