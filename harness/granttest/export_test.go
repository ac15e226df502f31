package granttest

import "time"

// ShortenCalls makes calls end sooner that never return, until the function that it returns is called.
func ShortenCalls(d time.Duration) (restore func()) {
	old := callTime
	callTime = d
	return func() { callTime = old }
}
