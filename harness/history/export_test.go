package history

import "github.com/doublegrant/doublegrant/harness"

// SetSegmentSize makes segments of at most n bytes.
func SetSegmentSize(s *Store, n int64) { s.most = n }

// Flush writes what waits.
func Flush(s *Store) { s.flushDue() }

// Encoded returns ops as a frame's content. It panics if an operation has no outcome.
func Encoded(ops []harness.Op) []byte {
	e := newEncoder()
	for i := range ops {
		if err := e.add(&ops[i]); err != nil {
			panic(err)
		}
	}
	return e.buf
}

// Decoded reads a frame's content.
func Decoded(raw []byte) (ops []harness.Op, err error) {
	d := newOpDecoder()
	for d.frame(raw); d.more(); {
		op, err := d.op()
		if err != nil {
			return ops, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// NewQuick returns a function that reads lines the quick way. It reports false if that cannot read the line.
func NewQuick() func(line []byte) (harness.Op, bool) { return newQuick().op }

// Strict reads a line the strict way.
func Strict(line []byte) (harness.Op, error) { return strictOp(line) }
