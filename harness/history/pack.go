package history

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// Pack encodes operations in few bytes, to be sent to another machine. The operations must be in order of Return.
func Pack(ops []harness.Op) ([]byte, error) {
	e := newEncoder()
	for i := range ops {
		if err := e.add(&ops[i]); err != nil {
			return nil, err
		}
	}
	return e.buf, nil
}

// Unpack decodes what Pack has encoded.
func Unpack(packed []byte) (ops []harness.Op, err error) {
	d := newOpDecoder()
	d.frame(slices.Clone(packed))
	for d.more() {
		op, err := d.op()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}
