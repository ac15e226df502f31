package history

import "github.com/doublegrant/doublegrant/harness"

// wordTable holds the strings that may stand at some place of a line, by their first letter: those with an 'a' are at
// 0.
type wordTable[T any] [26][]word[T]

// word is a string with its closing quote, and what it means.
type word[T any] struct {
	rest  string
	means T
}

func (t *wordTable[T]) add(text string, means T) {
	at := &t[text[0]-'a']
	*at = append(*at, word[T]{text + `"`, means})
}

var (
	fieldWords   = fieldTable()
	kindWords    = kindTable()
	outcomeWords = outcomeTable()
)

func fieldTable() (t wordTable[fieldSet]) {
	for i, name := range []string{
		"client", "kind", "key", "arg", "result", "ttl", "until", "due", "call", "return", "outcome", "err", // in the order of their bits
	} {
		t.add(name, 1<<i)
	}
	return t
}

func kindTable() (t wordTable[harness.Kind]) {
	for _, k := range kinds {
		t.add(string(k), k)
	}
	return t
}

func outcomeTable() (t wordTable[harness.Outcome]) {
	for _, o := range []harness.Outcome{harness.OK, harness.Fail, harness.Info} {
		t.add(o.String(), o)
	}
	return t
}

// oneOf reads a string of the table and returns what it means.
func oneOf[T any](c *cursor, t *wordTable[T]) (means T, ok bool) {
	if !c.take('"') || c.i == len(c.b) {
		return means, false
	}
	rest := c.b[c.i:]
	first := rest[0] - 'a'
	if int(first) >= len(t) {
		return means, false
	}
	for i := range t[first] {
		if w := &t[first][i]; len(w.rest) <= len(rest) && string(rest[:len(w.rest)]) == w.rest {
			c.i += len(w.rest)
			return w.means, true
		}
	}
	return means, false
}
