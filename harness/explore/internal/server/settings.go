package server

import (
	"maps"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file restores functions and settings that clients have changed. What clients change outside of operations, such
// as on their first connection, stays, since they do it only once for all schedules.

// settings is what clients have changed. The zero value says that nothing was changed.
type settings struct {
	functions string            // functions that stay, in the format of FUNCTION DUMP; empty: none
	loaded    bool              // other functions were loaded, or some were deleted
	before    map[string]string // previous values of changed settings
}

// NoteSettings records what a command changes and what therefore has to be restored after the schedule: the script
// cache, functions and settings. Call it before the command. The parameter stays says whether the command was sent
// outside of operations. If so, only the script cache is restored.
func (s *Server) NoteSettings(args [][]byte, stays bool) error {
	if command.FlushesScripts(args) {
		s.Flushed = true
	}
	if stays {
		return nil
	}
	s.changed.loaded = s.changed.loaded || command.Loads(args)
	for _, p := range command.Configures(args) {
		if _, known := s.changed.before[p]; known {
			continue
		}
		reply, err := s.Ask(s.Primary, "CONFIG", "GET", p)
		if err != nil {
			return err
		}
		if s.changed.before == nil {
			s.changed.before = map[string]string{}
		}
		if setting := resp.Elements(reply); len(setting) == 2 { // otherwise there is none, and Redis will say so
			if s.changed.before[p], err = resp.Text(setting[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// KeepSettings keeps the functions that a command outside of operations has loaded, for all later schedules.
func (s *Server) KeepSettings(args [][]byte) error {
	if !command.Loads(args) {
		return nil
	}
	reply, err := s.Ask(s.Primary, "FUNCTION", "DUMP")
	if err != nil {
		return err
	}
	s.changed.functions, err = resp.Text(reply)
	return err
}

// restoreSettings gives the first primary the functions and settings that it had before the last schedule.
func (s *Server) restoreSettings() error {
	if s.changed.loaded {
		restore := []string{"FUNCTION", "FLUSH"}
		if s.changed.functions != "" {
			restore = []string{"FUNCTION", "RESTORE", s.changed.functions, "FLUSH"}
		}
		if _, err := s.Ask(FirstPrimary, restore...); err != nil {
			return err
		}
		s.changed.loaded = false
	}
	for _, p := range slices.Sorted(maps.Keys(s.changed.before)) {
		if _, err := s.Ask(FirstPrimary, "CONFIG", "SET", p, s.changed.before[p]); err != nil {
			return err
		}
	}
	s.changed.before = nil
	return nil
}
