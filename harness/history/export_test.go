package history

// SetSegmentSize makes segments of at most n bytes.
func SetSegmentSize(s *Store, n int64) { s.most = n }

// Flush writes what waits.
func Flush(s *Store) { s.due() }
