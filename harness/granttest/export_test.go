package granttest

import "time"

// ShortenCalls lets a call take no longer than d, until restore is called.
func ShortenCalls(d time.Duration) (restore func()) {
	old := callTime
	callTime = d
	return func() { callTime = old }
}
