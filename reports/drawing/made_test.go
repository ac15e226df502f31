package drawing

import "time"

const (
	ms  = time.Millisecond
	sec = time.Second
)
