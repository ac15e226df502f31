package server

import (
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file puts back what clients have loaded and set beside keys: functions, and settings. What they do in no
// operation, such as when they connect for the first time, stays, since they do it once for all schedules.

// settings is what clients have changed. The zero value is a server that nobody has changed.
type settings struct {
	functions string            // as FUNCTION DUMP writes those that stay; empty: none
	loaded    bool              // others were loaded, or some deleted
	before    map[string]string // of settings that were changed: what they were
}

// NoteSettings is told of a command before it is sent; stays: it is no operation's.
func (s *Server) NoteSettings(args [][]byte, stays bool) error {
	if command.FlushesScripts(args) {
		s.Flushed = true
	}
	if stays {
		return nil
	}
	s.set.loaded = s.set.loaded || command.Loads(args)
	for _, p := range command.Configures(args) {
		if _, known := s.set.before[p]; known {
			continue
		}
		reply, err := s.Ask(s.Primary, "CONFIG", "GET", p)
		if err != nil {
			return err
		}
		_, rest := resp.Line(reply)
		_, size, err := resp.Bulk(reply[rest:])
		if err != nil { // it is none, and Redis says so
			continue
		}
		old, _, err := resp.Bulk(reply[rest+size:])
		if err != nil {
			continue
		}
		if s.set.before == nil {
			s.set.before = map[string]string{}
		}
		s.set.before[p] = string(old)
	}
	return nil
}

// KeepSettings keeps what a command that was no operation's has loaded.
func (s *Server) KeepSettings(args [][]byte) error {
	if !command.Loads(args) {
		return nil
	}
	reply, err := s.Ask(s.Primary, "FUNCTION", "DUMP")
	if err != nil {
		return err
	}
	functions, _, err := resp.Bulk(reply)
	s.set.functions = string(functions)
	return err
}

// restoreSettings makes the first primary what it was before the last schedule.
func (s *Server) restoreSettings() error {
	if s.set.loaded {
		restore := []string{"FUNCTION", "FLUSH"}
		if s.set.functions != "" {
			restore = []string{"FUNCTION", "RESTORE", s.set.functions, "FLUSH"}
		}
		if _, err := s.Ask(FirstPrimary, restore...); err != nil {
			return err
		}
		s.set.loaded = false
	}
	for _, p := range slices.Sorted(maps.Keys(s.set.before)) {
		if _, err := s.Ask(FirstPrimary, "CONFIG", "SET", p, s.set.before[p]); err != nil {
			return err
		}
	}
	s.set.before = nil
	return nil
}
