package harness

// Link is a directed pair of hosts. It carries the connections that the first host (From) opens to the second (To),
// with the bytes of both directions. The System names the hosts: nodes such as "r1" and "s2", client groups such as
// "g0".
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// String returns "from>to".
func (l Link) String() string { return l.From + ">" + l.To }

// Links lists the links from every host of the first list to every host of the second. A host has no link to itself.
func Links(from, to []string) []Link {
	var out []Link
	for _, f := range from {
		for _, t := range to {
			if f != t {
				out = append(out, Link{f, t})
			}
		}
	}
	return out
}

// Between lists the links between any host of a and any host of b, in both directions.
func Between(a, b []string) []Link { return append(Links(a, b), Links(b, a)...) }
