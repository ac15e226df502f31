package analysis

import "time"

const (
	ms  = time.Millisecond
	sec = time.Second
)
