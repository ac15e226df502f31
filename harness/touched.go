package harness

// Touched counts what faults have done to the connections of one link. Connections that the harness itself opened to
// probe the link are not counted. All numbers only grow: the difference of two Touched is what happened between them.
type Touched struct {
	Withheld int64 // bytes, and ends of connections, that a fault withheld
	Waited   int64 // connections that were opened while a fault withheld the bytes of the link
	Reset    int64 // connections that a fault reset or refused
	Passed   int64 // bytes that met a fault other than withholding, such as latency, in a direction that it strikes
	Ended    int64 // connections that a fault, such as a limit, ended in the middle of their bytes
}

// Minus returns what faults have touched since the earlier count.
func (t Touched) Minus(earlier Touched) Touched {
	return Touched{
		t.Withheld - earlier.Withheld, t.Waited - earlier.Waited, t.Reset - earlier.Reset,
		t.Passed - earlier.Passed, t.Ended - earlier.Ended,
	}
}

// Plus returns the sum of t and u.
func (t Touched) Plus(u Touched) Touched {
	return Touched{
		t.Withheld + u.Withheld, t.Waited + u.Waited, t.Reset + u.Reset,
		t.Passed + u.Passed, t.Ended + u.Ended,
	}
}
