package outside

import "time"

// ShortenStart makes a process that says nothing an error sooner, until the function that it returns is called.
func ShortenStart(d time.Duration) (restore func()) { return shorten(&startWithin, d) }

// ShortenAnswers does the same for the operations of a check.
func ShortenAnswers(d time.Duration) (restore func()) { return shorten(&answerWithin, d) }

func shorten(what *time.Duration, to time.Duration) (restore func()) {
	old := *what
	*what = to
	return func() { *what = old }
}
