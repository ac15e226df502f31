package fabric

import (
	"io"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// pipeline is one direction of a connection on its way through toxiproxy, from its source to its destination.
//
// toxiproxy keeps a chain of toxics for the link and one for each pipeline. When a toxic goes, a pipeline that has begun
// to end keeps its own as it is. While it still delivers, with another toxic, the two differ, and a toxic that came
// then would make toxiproxy panic: such pipelines are torn, and Add waits for their end.
type pipeline struct {
	*passage
	dir    stream.Direction
	ending bool          // its source has ended; under Link.mu
	took   int64         // bytes of its source, once that has ended; under Link.mu
	gave   int64         // bytes that came through
	gone   chan struct{} // closed when all is delivered
}

// sink is where a pipeline delivers to. Not whole: bytes got lost on the way, as beyond the limit of LimitData.
type sink interface {
	io.Writer
	io.ReaderFrom
	end(whole bool) error
}

// start gives toxiproxy a pipeline, and waits for as long as it is busy with its toxics.
func (l *Link) start(name string, from io.Reader, to sink, of *passage, d stream.Direction) {
	p := &pipeline{passage: of, dir: d, gone: make(chan struct{})}
	l.mu.Lock()
	l.pipelines[p] = struct{}{}
	l.mu.Unlock()
	l.proxy.Toxics.StartLink(l.server, name+" "+d.String(), source{from, p}, destination{to, p}, d)
}

// tear notes the pipelines that a toxic, as it goes, may leave torn: those that end, or all where it makes them end.
func (l *Link) tear(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pipelines {
		if all || p.ending {
			l.torn = append(l.torn, p)
		}
	}
}

// awaitTorn waits until all that is torn has ended. The caller holds l.changing.
func (l *Link) awaitTorn() {
	l.mu.Lock()
	torn := l.torn
	l.torn = nil
	l.mu.Unlock()
	for _, p := range torn {
		<-p.gone
	}
}

// source is where a pipeline begins. io.Copy calls WriteTo.
type source struct {
	io.Reader
	p *pipeline
}

func (s source) WriteTo(w io.Writer) (int64, error) {
	n, err := copied(w, counted(s))
	l := s.p.link
	l.mu.Lock()
	defer l.mu.Unlock()
	s.p.ending, s.p.took = true, n
	return n, err
}

// counted counts what comes from a source.
type counted struct {
	io.Reader
	p *pipeline
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.p.passes(c.p.dir, n)
	return n, err
}

// destination is where a pipeline leads to. toxiproxy closes it when it has delivered all.
type destination struct {
	sink
	p *pipeline
}

func (d destination) ReadFrom(r io.Reader) (n int64, err error) {
	d.p.gave, err = d.sink.ReadFrom(r)
	return d.p.gave, err
}

func (d destination) Close() error {
	whole := d.p.whole()
	if !whole {
		d.p.ends(d.p.dir)
	}
	err := d.sink.end(whole)
	l := d.p.link
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pipelines, d.p)
	close(d.p.gone)
	return err
}

// whole reports whether a pipeline that has delivered what it will has delivered all that its source had.
func (p *pipeline) whole() bool {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	return p.ending && p.took == p.gave
}
