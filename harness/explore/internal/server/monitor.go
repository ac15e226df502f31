package server

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file monitors scripts: MONITOR shows each command that a script calls.

// ScriptCall is a script that ran, with the commands that it called.
type ScriptCall struct {
	Args  []string // of EVAL, EVALSHA, FCALL and the like
	Calls []LuaCall
}

// LuaCall is a command that a script called.
type LuaCall struct {
	Database string
	Args     []string
}

// WatchScripts starts to monitor scripts at the primary. It may be called again.
func (s *Server) WatchScripts() error {
	if s.monitors[s.Primary] != nil {
		return nil
	}
	to, err := s.DialNode(s.Primary)
	if err != nil {
		return err
	}
	if _, err := to.Ask(resp.Request("MONITOR"), 1); err != nil {
		to.Close()
		return err
	}
	if s.monitors == nil {
		s.monitors = map[int]*resp.Conn{}
	}
	s.monitors[s.Primary] = to
	return nil
}

// ScriptCalls lists the scripts that ran at the primary since WatchScripts or the last call of ScriptCalls. The
// explorer's own scripts are among them.
func (s *Server) ScriptCalls() (all []ScriptCall, err error) {
	s.marks++
	mark := "doublegrant-" + strconv.Itoa(s.marks)
	if _, err := s.Ask(s.Primary, "ECHO", mark); err != nil {
		return nil, err
	}
	text, err := s.monitors[s.Primary].ReadUntil([]byte(strconv.Quote(mark) + "\r\n"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(text, []byte("\r\n")) {
		_, rest, ok := strings.Cut(string(line), " [")
		where, words, more := strings.Cut(rest, "] ")
		if !ok || !more {
			continue
		}
		database, by, _ := strings.Cut(where, " ")
		switch args := unquoted(words); {
		case len(args) == 0:
		case by == "lua":
			if n := len(all); n > 0 {
				all[n-1].Calls = append(all[n-1].Calls, LuaCall{database, args})
			}
		default:
			all = append(all, ScriptCall{Args: args})
		}
	}
	return all, nil
}

// unquoted splits a line of MONITOR into its quoted words.
func unquoted(line string) (words []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil
		}
		words, line = append(words, word), line[len(quoted):]
	}
	return words
}

// KeysOf returns the keys that a command touches, according to the server.
func (s *Server) KeysOf(args []string) (keys []string, err error) {
	reply, err := s.admin[s.Primary].Ask(resp.Request(append([]string{"COMMAND", "GETKEYS"}, args...)...), 1)
	if err != nil || reply[0] != '*' { // an error from Redis: the command touches none
		return nil, err
	}
	for _, element := range resp.Elements(reply) {
		key, err := resp.Text(element)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
