package history

import (
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/doublegrant/doublegrant/harness"
)

// quickReader reads most lines of operations, several times as fast as a JSON library, as BenchmarkLine shows. It
// accepts one flat object of known fields, in which each field appears at most once and numbers are whole. Any other
// line is left to strictOp. What quickReader accepts, strictOp would read as the same operation.
type quickReader struct{ pool pool }

func newQuick() *quickReader { return &quickReader{pool: newPool()} }

// fieldSet says which fields of an operation a line has.
type fieldSet uint16

const (
	withClient fieldSet = 1 << iota
	withKind
	withKey
	withArg
	withResult
	withTTL
	withUntil
	withDue
	withCall
	withReturn
	withOutcome
	withErr

	needed = withClient | withKind | withCall | withReturn | withOutcome
)

// op reads a line. The result ok is false if strictOp has to read the line.
func (q *quickReader) op(line []byte) (op harness.Op, ok bool) {
	c := cursor{b: line}
	if !c.accept('{') {
		return op, false
	}
	for seen := fieldSet(0); ; {
		field, ok := oneOf(&c, &fieldWords)
		if !ok || seen&field != 0 || !c.accept(':') || !q.value(&c, &op, field) {
			return op, false
		}
		seen |= field
		if c.accept(',') {
			continue
		}
		return op, c.accept('}') && c.atEnd() && seen&needed == needed
	}
}

// value reads the value of a field into op.
func (q *quickReader) value(c *cursor, op *harness.Op, field fieldSet) (ok bool) {
	switch field {
	case withClient:
		n, ok := c.number()
		op.Client = int(n)
		return ok && int64(op.Client) == n
	case withKind:
		op.Kind, ok = oneOf(c, &kindWords)
		return ok
	case withOutcome:
		op.Outcome, ok = oneOf(c, &outcomeWords)
		return ok
	case withKey:
		return q.text(c, &op.Key)
	case withArg:
		return q.text(c, &op.Arg)
	case withResult:
		return q.text(c, &op.Result)
	case withErr:
		return q.text(c, &op.Err)
	case withTTL:
		return c.time(&op.TTL)
	case withUntil:
		return c.time(&op.Until)
	case withDue:
		return c.time(&op.Due)
	case withCall:
		return c.time(&op.Call)
	default:
		return c.time(&op.Return)
	}
}

func (q *quickReader) text(c *cursor, into *string) bool {
	b, escaped, ok := c.text()
	if ok && escaped {
		unescaped, err := jsontext.AppendUnquote(nil, c.b[c.i-len(b)-2:c.i]) // with quotes
		*into = string(unescaped)
		return err == nil
	}
	if ok {
		*into = q.pool.string(b)
	}
	return ok
}

// cursor is a place in a line.
type cursor struct {
	b []byte
	i int
}

// skip advances past white space.
func (c *cursor) skip() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t' || c.b[c.i] == '\r') {
		c.i++
	}
}

// accept advances past white space and the byte x. It returns false if another byte is there.
func (c *cursor) accept(x byte) bool {
	c.skip()
	if c.i == len(c.b) || c.b[c.i] != x {
		return false
	}
	c.i++
	return true
}

func (c *cursor) atEnd() bool {
	c.skip()
	return c.i == len(c.b)
}

// text reads a UTF-8 string and returns what is between its quotes. The result b is part of the line, not a copy.
func (c *cursor) text() (b []byte, escaped, ok bool) {
	if !c.accept('"') {
		return nil, false, false
	}
	rest, high := c.b[c.i:], byte(0)
	for i := 0; i < len(rest); i++ {
		switch x := rest[i]; {
		case x == '"':
			c.i += i + 1
			return rest[:i], escaped, high < utf8.RuneSelf || utf8.Valid(rest[:i])
		case x < ' ':
			return nil, false, false
		case x == '\\':
			escaped = true
			i++
		default:
			high |= x
		}
	}
	return nil, false, false
}

// time reads a time in nanoseconds.
func (c *cursor) time(into *time.Duration) bool {
	n, ok := c.number()
	*into = time.Duration(n)
	return ok
}

// number reads a whole number of at most 18 digits, which always fits an int64.
func (c *cursor) number() (n int64, ok bool) {
	const digits = 18
	c.skip()
	minus := c.i < len(c.b) && c.b[c.i] == '-'
	if minus {
		c.i++
	}
	first := c.i
	for c.i < len(c.b) && '0' <= c.b[c.i] && c.b[c.i] <= '9' && c.i-first <= digits {
		n = n*10 + int64(c.b[c.i]-'0')
		c.i++
	}
	length := c.i - first
	if minus {
		n = -n
	}
	return n, 0 < length && length <= digits && (length == 1 || c.b[first] != '0')
}
