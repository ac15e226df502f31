package history

import "github.com/doublegrant/doublegrant/harness"

// wordTable holds the strings that are allowed in one place of a line, by first letter: index 0 has those that begin
// with an 'a'.
type wordTable[T any] [26][]word[T]

// word is an allowed string and its value. The field rest is the whole string, with its closing quote.
type word[T any] struct {
	rest  string
	value T
}

func (t *wordTable[T]) add(text string, value T) {
	at := &t[text[0]-'a']
	*at = append(*at, word[T]{text + `"`, value})
}

var (
	fieldWords = tableOf([]string{ // in the order of their bits
		"client", "kind", "key", "arg", "result", "ttl", "until", "due", "call", "return", "outcome", "err",
	}, func(i int, name string) (string, fieldSet) { return name, 1 << i })
	kindWords    = tableOf(kinds, func(_ int, k harness.Kind) (string, harness.Kind) { return string(k), k })
	outcomeWords = tableOf([]harness.Outcome{harness.OK, harness.Fail, harness.Info},
		func(_ int, o harness.Outcome) (string, harness.Outcome) { return o.String(), o })
)

// tableOf returns a table with one entry for each element of a list. The given function makes the entry of element i.
func tableOf[S, T any](all []S, word func(i int, one S) (text string, value T)) (t wordTable[T]) {
	for i, one := range all {
		t.add(word(i, one))
	}
	return t
}

// oneOf reads a string that is in the table, and returns its value.
func oneOf[T any](c *cursor, t *wordTable[T]) (value T, ok bool) {
	if !c.accept('"') || c.i == len(c.b) {
		return value, false
	}
	rest := c.b[c.i:]
	first := rest[0] - 'a'
	if int(first) >= len(t) {
		return value, false
	}
	for i := range t[first] {
		if w := &t[first][i]; len(w.rest) <= len(rest) && string(rest[:len(w.rest)]) == w.rest {
			c.i += len(w.rest)
			return w.value, true
		}
	}
	return value, false
}
