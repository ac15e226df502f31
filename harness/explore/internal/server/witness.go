package server

import (
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file finds which keys are written, by watching them as a client would.

// WatchKeys watches keys, each on its own connection.
func (s *Server) WatchKeys(keys []string) error {
	for len(s.witnesses) < len(keys) {
		to, err := s.DialNode(s.Primary)
		if err != nil {
			return err
		}
		s.witnesses = append(s.witnesses, to)
	}
	for i, k := range keys {
		if _, err := s.witnesses[i].Ask(resp.Request("WATCH", k), 1); err != nil {
			return err
		}
	}
	return nil
}

// TouchedKeys lists which keys were written since WatchKeys was called with the same keys. It sends an EXEC on the
// connection that watches a key: Redis refuses the EXEC if the key was written.
func (s *Server) TouchedKeys(keys []string) (touched []string, err error) {
	for i, k := range keys {
		reply, err := s.witnesses[i].Ask(slices.Concat(resp.Request("MULTI"), resp.Request("EXEC")), 2)
		if err != nil {
			return nil, err
		}
		_, size := resp.Line(reply)
		if strings.HasPrefix(string(reply[size:]), "*-1") {
			touched = append(touched, k)
		}
	}
	return touched, nil
}

// closeWitnesses closes the connections of WatchKeys. Later calls of WatchKeys connect to the primary of their time.
func (s *Server) closeWitnesses() {
	for _, to := range s.witnesses {
		to.Close()
	}
	s.witnesses = nil
}
