package fabric

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

const ms = time.Millisecond

// step is an event in one direction of a connection: a fault, its heal, bytes that arrive, or the end.
type step struct {
	at    time.Duration
	fault harness.LinkFault
	heal  int // number of the fault that heals, from 1; 0: none
	bytes int // if 0, without a fault and a heal: the end
}

// TestDelays runs in virtual time, so that times are exact: "70ms 1B" says that one byte comes through after 70 ms.
func TestDelays(t *testing.T) {
	latency := func(d time.Duration) step { return step{fault: harness.Latency(d, 0)} }
	bandwidth, slice := step{fault: harness.Bandwidth(1000)}, step{fault: harness.Slice(10, 5*ms)}
	slowClose := step{fault: harness.SlowClose(100 * ms)}
	write := func(at time.Duration, bytes int) step { return step{at: at, bytes: bytes} }
	end := func(at time.Duration) step { return step{at: at} }
	after := func(at time.Duration, s step) step { s.at = at; return s }
	heal := func(at time.Duration, fault int) step { return step{at: at, heal: fault} }
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"latency": {[]step{latency(30 * ms), write(0, 1), write(10*ms, 2), end(15 * ms)},
			"30ms 1B, 40ms 2B, 40ms end"},
		"latency of a fraction": {[]step{latency(1500 * time.Microsecond), write(0, 1), end(0)},
			"1.5ms 1B, 1.5ms end"},
		"two latencies": {[]step{latency(30 * ms), latency(40 * ms), write(0, 1), write(3*ms, 2),
			end(5 * ms)}, "70ms 1B, 73ms 2B, 73ms end"},
		"three latencies": {[]step{latency(ms), latency(40 * ms), latency(2 * ms), write(0, 1), end(0)},
			"43ms 1B, 43ms end"},
		"bandwidth": {[]step{bandwidth, write(0, 250), end(0)},
			"100ms 100B, 200ms 100B, 250ms 50B, 250ms end"},
		"bandwidth in a row": {[]step{bandwidth, write(0, 50), write(10*ms, 50), end(0)},
			"50ms 50B, 100ms 50B, 100ms end"},
		"bandwidth after a pause": {[]step{bandwidth, write(0, 50), write(time.Second, 50), end(0)},
			"50ms 50B, 1.05s 50B, 1.05s end"},
		"bandwidth of a fraction": {[]step{{fault: harness.Bandwidth(1500)}, write(0, 150), end(0)},
			"100ms 150B, 100ms end"},
		"two bandwidths": {[]step{bandwidth, bandwidth, write(0, 200), end(0)},
			"200ms 100B, 300ms 100B, 300ms end"},
		"bandwidth and latency": {[]step{bandwidth, latency(40 * ms), write(0, 200), end(0)},
			"140ms 100B, 240ms 100B, 240ms end"},
		"latency and bandwidth": {[]step{latency(40 * ms), bandwidth, write(0, 50), write(10*ms, 50), end(0)},
			"90ms 50B, 140ms 50B, 140ms end"},
		"slice": {[]step{slice, write(0, 25), write(10*ms, 5), end(0)},
			"0s 10B, 5ms 10B, 10ms 5B, 15ms 5B, 20ms end"},
		"slice and latency": {[]step{slice, latency(7 * ms), write(0, 25), end(0)},
			"7ms 10B, 12ms 10B, 17ms 5B, 17ms end"},
		"latency and slice": {[]step{latency(7 * ms), slice, write(0, 15), end(0)}, "7ms 10B, 12ms 5B, 17ms end"},
		"slow close": {[]step{slowClose, write(0, 1), write(20*ms, 1), end(30 * ms)},
			"0s 1B, 20ms 1B, 130ms end"},
		"two slow closes":        {[]step{slowClose, slowClose, end(0)}, "200ms end"},
		"latency and slow close": {[]step{latency(40 * ms), slowClose, write(0, 1), end(0)}, "40ms 1B, 140ms end"},

		"another toxic comes to a latency": {[]step{latency(30 * ms), write(0, 1), after(10*ms, latency(40*ms)),
			end(10 * ms)}, "70ms 1B, 70ms end"},
		"another toxic comes to a bandwidth": {[]step{bandwidth, write(0, 250), after(150*ms, slowClose),
			write(180*ms, 10), end(180 * ms)}, "100ms 100B, 200ms 100B, 250ms 50B, 260ms 10B, 360ms end"},
		"another toxic comes to a slice": {[]step{slice, write(0, 25), after(3*ms, latency(ms)), end(3 * ms)},
			"0s 10B, 6ms 10B, 11ms 5B, 15ms end"},
		"another toxic goes behind a latency": {[]step{latency(30 * ms), latency(40 * ms), write(0, 1), heal(10*ms, 2),
			end(10 * ms)}, "30ms 1B, 30ms end"},
		"a latency heals": {[]step{latency(30 * ms), write(0, 1), write(5*ms, 2), heal(10*ms, 1),
			write(12*ms, 3), end(12 * ms)}, "10ms 3B, 12ms 3B, 12ms end"},
		"the first of two latencies heals": {[]step{latency(30 * ms), latency(40 * ms), write(0, 1), heal(10*ms, 1),
			end(10 * ms)}, "50ms 1B, 50ms end"},
		"a bandwidth heals": {[]step{bandwidth, write(0, 250), heal(120*ms, 1), end(130 * ms)},
			"100ms 100B, 120ms 150B, 130ms end"},
		"a slice heals": {[]step{slice, write(0, 45), heal(7*ms, 1), end(8 * ms)},
			"0s 10B, 5ms 10B, 7ms 25B, 8ms end"},
		"a slow close heals": {[]step{slowClose, write(0, 1), end(0), heal(20*ms, 1)},
			"0s 1B, 20ms end"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, tc.want, passes(t, tc.steps))
			})
		})
	}
}

// passes takes a connection through the steps and says what came through.
func passes(t *testing.T, steps []step) string {
	l, out := New().Link("a", "b"), &recorded{began: time.Now(), ended: make(chan struct{})}
	in, typed := io.Pipe()
	l.start("a connection", in, out, &dialed{link: l}, stream.Upstream)
	var heals []func() error
	for _, s := range steps {
		time.Sleep(s.at - time.Since(out.began)) // virtual
		switch {
		case s.fault != harness.LinkFault{}:
			heal, err := l.impair(s.fault)
			require.NoError(t, err)
			heals = append(heals, heal)
		case s.heal > 0:
			require.NoError(t, heals[s.heal-1]())
		case s.bytes > 0:
			_, err := typed.Write(make([]byte, s.bytes))
			require.NoError(t, err)
		default:
			require.NoError(t, typed.Close())
		}
		synctest.Wait()
	}
	<-out.ended
	for _, heal := range heals {
		require.NoError(t, heal())
	}
	return out.String()
}

// recorded is a sink that notes what comes when.
type recorded struct {
	began time.Time
	at    []time.Duration
	bytes []int
	ended chan struct{}
}

func (r *recorded) Write(b []byte) (int, error) {
	now := time.Since(r.began)
	if n := len(r.at); n > 0 && r.at[n-1] == now {
		r.bytes[n-1] += len(b)
	} else {
		r.at, r.bytes = append(r.at, now), append(r.bytes, len(b))
	}
	return len(b), nil
}

func (r *recorded) ReadFrom(from io.Reader) (int64, error) { return copySmall(r, from) }

func (r *recorded) end(bool) {
	r.at = append(r.at, time.Since(r.began))
	close(r.ended)
}

func (r *recorded) String() string {
	var all []string
	for i, n := range r.bytes {
		all = append(all, fmt.Sprintf("%v %dB", r.at[i], n))
	}
	return strings.Join(append(all, fmt.Sprintf("%v end", r.at[len(r.bytes)])), ", ")
}
