package fabric

import (
	"io"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// pipeline is one direction of a connection on its way through toxiproxy, from its source to its destination.
//
// toxiproxy keeps a chain of toxics for the link, and a copy of the chain for each pipeline. It does not remove a toxic
// from the copy of a pipeline whose source has ended. Such a pipeline is called torn while it still delivers bytes. If
// a toxic were added then, toxiproxy would panic, so Link.put waits until no pipeline is torn.
type pipeline struct {
	conn   *dialed
	dir    stream.Direction
	ending bool          // the pipeline's source has ended; guarded by Link.mu
	took   int64         // number of bytes that the source had, set at the source's end; guarded by Link.mu
	gave   int64         // number of bytes that came through
	gone   chan struct{} // closed when all bytes are delivered
}

// sink takes what a pipeline delivers. end is called after the last byte. whole is false if bytes were lost on the
// way, such as those beyond the limit of LimitData.
type sink interface {
	io.Writer
	io.ReaderFrom
	end(whole bool)
}

// start gives toxiproxy a pipeline of conn in the direction d. It waits while toxiproxy adds or removes a toxic.
func (l *Link) start(name string, from io.Reader, to sink, conn *dialed, d stream.Direction) {
	p := &pipeline{conn: conn, dir: d, gone: make(chan struct{})}
	l.mu.Lock()
	l.pipelines[p] = struct{}{}
	l.mu.Unlock()
	l.proxy.Toxics.StartLink(l.server, name+" "+d.String(), source{from, p}, destination{to, p}, d)
}

// noteTorn records the pipelines that may be torn after a toxic was removed: those whose source has ended. If the
// parameter all is true, all pipelines may be torn, since the removal ends connections.
func (l *Link) noteTorn(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pipelines {
		if all || p.ending {
			l.torn = append(l.torn, p)
		}
	}
}

// awaitTorn waits until all torn pipelines have ended. The caller holds l.changing.
func (l *Link) awaitTorn() {
	l.mu.Lock()
	torn := l.torn
	l.torn = nil
	l.mu.Unlock()
	for _, p := range torn {
		<-p.gone
	}
}

// source is the reader from which a pipeline gets its bytes. toxiproxy reads with io.Copy, which calls WriteTo.
type source struct {
	io.Reader
	p *pipeline
}

func (s source) WriteTo(w io.Writer) (int64, error) {
	n, err := copySmall(w, counted(s))
	l := s.p.conn.link
	l.mu.Lock()
	defer l.mu.Unlock()
	s.p.ending, s.p.took = true, n
	return n, err
}

// counted counts the bytes that come from a source.
type counted struct {
	io.Reader
	p *pipeline
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.p.conn.countPassing(c.p.dir, n)
	return n, err
}

// destination is the writer to which a pipeline delivers its bytes. toxiproxy closes it after the last byte.
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
		d.p.conn.countEnded(d.p.dir)
	}
	d.sink.end(whole)
	l := d.p.conn.link
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pipelines, d.p)
	close(d.p.gone)
	return nil
}

// whole reports whether a pipeline, once ended, has delivered all that its source had.
func (p *pipeline) whole() bool {
	p.conn.link.mu.Lock()
	defer p.conn.link.mu.Unlock()
	return p.ending && p.took == p.gave
}
