package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
)

// This file compares the keys that scripts touch with those that they declare. A Cluster uses only KEYS to find a
// script's node, and refuses other nodes' keys. A script whose keys are all in one slot is not reported, whatever it
// declares, since it can be sent there.
//
// Source: Redis documentation, "Scripting with Lua": "all names of keys that a script accesses must be explicitly
// provided as input key arguments".

// watchScripts prepares to monitor the scripts that the next command runs. After the command, call the returned
// function touched. It returns a description of the first key that a script touched without declaring it; empty: there
// is none. The description begins with the key. If the model knows the outcome of the command, nothing is monitored.
func (ex *live) watchScripts(l *pendingOutcome, next command.Command,
	transaction []byte) (touched func() (string, error), err error) {
	n := command.Name(next.Args) // an exec may run a script as well
	runs := next.Scripts && (n == "exec" || strings.HasPrefix(n, "eval") || strings.HasPrefix(n, "fcall"))
	if !runs || ex.w.Scripts.TouchesKEYSOnly(next.Args) {
		return func() (string, error) { return "", nil }, nil
	}
	if l != nil && l.known != nil {
		return func() (string, error) { return l.known.Undeclared, nil }, nil
	}
	if err := ex.w.WatchScripts(); err != nil {
		return nil, err
	}
	sent := [][]string{resp.Words(next.Args)}
	for _, args := range resp.ParseAll(transaction) {
		sent = append(sent, resp.Words(args))
	}
	return func() (string, error) {
		all, err := ex.w.ScriptCalls()
		if err != nil {
			return "", err
		}
		for _, args := range sent {
			at := len(all) - 1
			// skips the explorer's own scripts, and those of earlier steps
			for at >= 0 && !slices.Equal(all[at].Args, args) {
				at--
			}
			if at < 0 {
				continue
			}
			if said, err := ex.undeclaredIn(all[at]); said != "" || err != nil {
				return said, err
			}
		}
		return "", nil
	}, nil
}

// sendWatched sends a client's command by calling send. From the reply it records the first undeclared key that the
// command's scripts touched, and the command's outcome for the model. After an empty reply it records nothing.
func (ex *live) sendWatched(l *pendingOutcome, client int, c command.Command, transaction []byte,
	send func() (reply []byte, err error)) (reply []byte, err error) {
	touched, err := ex.watchScripts(l, c, transaction)
	if err != nil {
		return nil, err
	}
	if reply, err = send(); err != nil || len(reply) == 0 {
		return reply, err
	}
	said, err := touched()
	if err != nil {
		return nil, err
	}
	ex.noteUndeclared(client, c, said)
	if l != nil {
		l.undeclared = said
	}
	return reply, ex.finishLearning(l, reply)
}

// undeclaredIn describes the first undeclared key that a script has touched, in words that begin with the key. It is
// empty if there is none, if all touched keys are in one slot, or if the script has the flag no-cluster.
func (ex *live) undeclaredIn(s server.ScriptCall) (string, error) {
	declared, undeclared := declaredKeys(s.Args), ""
	var touched []string
	for _, call := range s.Calls {
		if call.Database != "0" {
			return "", schedule.Stopped("a script has used database %s, and only database 0 can be explored",
				call.Database)
		}
		keys, err := ex.keysOf(call.Args)
		if err != nil {
			return "", err
		}
		for _, k := range keys {
			if undeclared == "" && !slices.Contains(declared, k) {
				undeclared = k
			}
		}
		touched = append(touched, keys...)
	}
	if undeclared == "" || command.InOneSlot(touched...) || strings.Contains(ex.flagsOf(s.Args), "no-cluster") {
		return "", nil
	}
	return fmt.Sprintf("%s, which is not among its KEYS (%s), and keys of another slot: a Cluster refuses such a script, "+
		"or runs it on the wrong node", undeclared, strings.Join(declared, " ")), nil
}

// declaredKeys returns the KEYS of EVAL, FCALL and the like.
func declaredKeys(args []string) []string {
	if len(args) < 3 {
		return nil
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return nil
	}
	return args[3 : 3+n]
}

// flagsOf returns the first line of a script that has flags, such as "#!lua flags=no-cluster"; empty: it has none.
func (ex *live) flagsOf(args []string) string {
	first, _, _ := strings.Cut(ex.w.Scripts.Of(bytesOf(args)), "\n")
	if !strings.HasPrefix(first, "#!") {
		return ""
	}
	return first
}

// keysOf returns the keys that a command touches. Channels are not keys.
func (ex *live) keysOf(words []string) ([]string, error) {
	access, _ := command.AccessOf(bytesOf(words))
	if access.Everything {
		return ex.w.KeysOf(words)
	}
	keys := append(access.Reads, access.Writes...)
	return slices.DeleteFunc(keys, command.IsNoKey), nil
}

// noteUndeclared records that a client's script touched an undeclared key. Only the first such key of a schedule is
// kept. The parameter description comes from undeclaredIn and begins with the key; empty: there is none.
func (ex *execution) noteUndeclared(client int, c command.Command, description string) {
	if description == "" || ex.undeclared != nil {
		return
	}
	at := ex.stepTimes[len(ex.stepTimes)-1]
	key, _, _ := strings.Cut(description, ", ")
	ex.undeclared = &harness.Anomaly{
		Class: harness.UndeclaredKey, Key: key, From: at, To: at,
		Note: fmt.Sprintf("client %d's %s touches %s", client+1, c.Text(ex.w.Scripts), description),
	}
}

func bytesOf(words []string) (args [][]byte) {
	for _, w := range words {
		args = append(args, []byte(w))
	}
	return args
}
