package history

import "github.com/doublegrant/doublegrant/harness"

// SetSegmentSize limits segments to n bytes.
func SetSegmentSize(s *Store, n int64) { s.maxSegment = n }

// Flush writes the waiting operations.
func Flush(s *Store) { s.flushDue() }

// Encoded returns the content of a frame with ops. It panics if an operation has no outcome.
func Encoded(ops []harness.Op) []byte {
	e := newEncoder()
	for i := range ops {
		if err := e.add(&ops[i]); err != nil {
			panic(err)
		}
	}
	return e.buf
}

// Decoded decodes the content of a frame.
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

// NewQuick returns a quick reader of lines. It reports false for a line that only the strict reader can read.
func NewQuick() func(line []byte) (harness.Op, bool) { return newQuick().op }

// Strict reads a line with the strict reader.
func Strict(line []byte) (harness.Op, error) { return strictOp(line) }
