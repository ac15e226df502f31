package adapter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// startWithin bounds the time from the start of a process to its answer to init. Tests shorten it.
var startWithin = 10 * time.Second

// process is a running program: a process that doublegrant has started, or a connection to a program that somebody else
// has started. It serves several operations at a time, and may answer them in any order.
type process struct {
	cmd       *exec.Cmd // nil: the process is a connection
	in        io.WriteCloser
	lines     lines // what goes to the program's input
	out       io.ReadCloser
	lastWords *cluster.LastWords
	log       io.Closer
	clock     *clock        // nil: the process has no preloaded clock
	ended     chan struct{} // closed when the process has ended and was waited for
	ready     answer        // the answer to init
	threads   threads
	hears     atomic.Bool // the process has asked for a message

	mu    sync.Mutex
	begun bool // the process has answered init
	// over is closed when the current operation ends. It is nil if no operation is under way, or if the process has no
	// preloaded clock. A process with a preloaded clock does one operation at a time.
	over    chan struct{}
	asked   int
	waiting map[int]chan answer // channels for awaited answers, by id of the operation
	why     error               // why nothing more comes from the process; nil while it works

	broken chan struct{} // closed when the field why is set
}

func newProcess() *process {
	return &process{lastWords: &cluster.LastWords{}, ended: make(chan struct{}), broken: make(chan struct{}),
		waiting: map[int]chan answer{}}
}

// start starts a process, sends it init, and waits for the answer. If log is not nil, the process's standard error also
// goes to log, which is closed with the process. If preload is not nil, the process's clock is preloaded.
func start(command []string, log *errorLog, init request, preload *clocks) (_ *process, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	c := newProcess()
	c.cmd = cmd
	if err := c.launch(log, preload); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = cmd.Wait() // ProcessState tells how it ended
	}()
	return c, c.begin(init)
}

// launch starts the process. If that fails, it closes log and everything that it has opened.
func (c *process) launch(log *errorLog, preload *clocks) (err error) {
	var opened []io.Closer
	defer func() {
		for _, o := range opened {
			_ = o.Close() // some are closed: Start closes what it was given when it fails
		}
		if err != nil && c.clock != nil {
			c.clock.close()
		}
	}()
	c.cmd.Stderr, c.cmd.WaitDelay = c.lastWords, time.Second
	if log != nil {
		c.log, c.cmd.Stderr, opened = log, io.MultiWriter(c.lastWords, log), append(opened, log)
	}
	if c.cmd.Err != nil {
		return notStarted(c.cmd, c.cmd.Err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return errors.Join(err, c.in.Close())
	}
	c.out, c.cmd.Stdout, opened = out, theirs, append(opened, c.in, out, theirs)
	if preload != nil {
		if c.clock, err = preload.make(c); err != nil {
			return err
		}
		c.cmd.Args = withoutTimers(c.cmd.Args)
		c.cmd.Env = append(os.Environ(), c.clock.environment()...)
	}
	if err := cluster.StartProcess(c.cmd); err != nil {
		return notStarted(c.cmd, err)
	}
	opened = []io.Closer{theirs} // the process has its own
	return nil
}

// connect connects to a program that listens on a socket, sends it init, and waits for the answer.
func connect(address string, init request) (*process, error) {
	conn, err := (&net.Dialer{Timeout: startWithin}).Dial("unix", strings.TrimPrefix(address, workloads.SocketPrefix))
	if err != nil {
		return nil, fmt.Errorf("nothing listens on %s: start the adapter first (%w)", address, err)
	}
	c := newProcess()
	c.in, c.out = conn, conn
	return c, c.begin(init)
}

// begin sends init to the process and waits for the answer. If that fails, it ends the process.
func (c *process) begin(init request) (err error) {
	go c.listen()
	init.Do, init.Version = doInit, Version
	if c.ready, err = c.ask(context.Background(), init, startWithin); err == nil {
		err = c.checkReady()
	}
	if err != nil {
		c.end()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	return err
}

// underWay implements timekeeper. The request init does not count as an operation.
func (c *process) underWay() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// checkReady returns an error if the answer to init shows that the process cannot be used. For example, the process may
// speak another version of the protocol.
func (c *process) checkReady() error {
	switch _, err := c.ready.result(); {
	case c.ready.Version != Version:
		return fmt.Errorf("it speaks version %d of the protocol, and this is version %d: %s", c.ready.Version, Version,
			page)
	case err != nil:
		return fmt.Errorf("it could not begin: %w", err)
	case !*c.ready.OK:
		return errors.New("it answered no to init: answer with fail and the reason")
	case !c.ready.Clock.IsKnown():
		return fmt.Errorf("it says that its clock is %q: choose one of %q, %q and %q, %s", c.ready.Clock,
			workloads.AskedClock, workloads.PreloadedClock, workloads.RealClock, page)
	case c.clock != nil:
		if err := c.clock.checkHeeded(c.cmd.Process.Pid); err != nil {
			return fmt.Errorf("its clock cannot be preloaded: %w, %s%s", err, page, c.lastWords)
		}
	}
	return nil
}

// errStillAsks is the error of a process that keeps asking for the time after its client has crashed. The process is
// replaced.
var errStillAsks = errors.New("its client has crashed, and it still asked for the time")

// ask sends a request and returns the answer. While it waits, it answers the process's questions with the clock of ctx.
// It waits for at most the given patience, which begins again after each question and whenever a nemesis stops,
// continues or kills the client. If the patience is 0, it waits for as long as the process lives.
func (c *process) ask(ctx context.Context, r request, patience time.Duration) (answer, error) {
	answers, err := c.send(r)
	if err != nil {
		return answer{}, err
	}
	returned := false
	defer func() {
		c.operationOver()
		if !returned { // the explorer has ended this goroutine
			c.breakDown(errStillAsks)
		}
	}()
	a, err := c.await(ctx, answers, r.Do, patience)
	returned = true
	// A number may be a reply of Redis, such as 0, that was taken for a yes.
	if err == nil && a.Number != "" && r.Do != workloads.DoNext {
		err = fmt.Errorf("it answered %s with the number %s: answer ok with true or false, %s", r.Do, a.Number, page)
		c.breakDown(err)
	}
	return a, err
}

// operationOver records that no operation is under way.
func (c *process) operationOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		close(c.over)
		c.over = nil
	}
}

// await waits for the answer to a request. Meanwhile it answers the questions of the process. The parameter do is the
// request's field Do. For patience see ask.
func (c *process) await(ctx context.Context, answers chan answer, do string, patience time.Duration) (answer, error) {
	var alarm <-chan time.Time
	var questions <-chan timeQuestion
	if c.clock != nil {
		questions = c.clock.questions
	}
	for {
		struck := harness.Struck(ctx) // before the checkpoint, so that none is missed
		if err := harness.Checkpoint(ctx); err != nil {
			return answer{}, err
		}
		if patience > 0 {
			alarm = time.After(patience)
		}
		select {
		case <-struck:
		case q := <-questions:
			switch {
			case len(answers) > 0: // a question after its answer
				q.reply <- time.Time{}
			case q.sleep == askTimer:
				q.refuse(c, answers)
			default:
				q.answer(ctx)
			}
		case a := <-answers:
			if a.Ask == "" {
				return a, nil
			}
			if err := c.answerQuestion(ctx, a, do); err != nil { // an answer that comes all the same does not count
				c.breakDown(err)
				return answer{}, err
			}
		case <-c.broken:
			select {
			case a := <-answers: // it came before the end
				if a.Ask == "" {
					return a, nil
				}
			default:
			}
			return answer{}, c.why
		case <-alarm:
			c.breakDown(fmt.Errorf("it has not answered %s within %v%s", do, patience, c.lastWords))
			return answer{}, c.why
		}
	}
}

// answerQuestion answers the question q, which the process asked during a request. The parameter do is the request's
// field Do. After a sleep an operation also gets the time. A thread does not get it, since a thread that reads the time
// takes a step of the schedule. If the process may not ask this question, answerQuestion sends no answer and returns an
// error.
func (c *process) answerQuestion(ctx context.Context, q answer, do string) (err error) {
	told := request{ID: q.ID, Thread: q.Thread}
	switch q.Ask {
	case askStart:
		if c.clock != nil {
			return fmt.Errorf("it started a thread, and its clock is preloaded, which is known for one thread only: "+
				"let it ask for now and sleep, %s", page)
		}
		told.Thread = c.start(ctx)
	case askStop, askJoin:
		err = c.ofThread(q)
	case askSubscribe:
		harness.Subscribe(ctx)
	case askMessage:
		err = c.awaitMessage(ctx, q, do, &told)
	case askSleep:
		// An operation's client that has crashed learns that from its connections.
		slept := harness.Sleep(ctx, time.Duration(q.MS)*time.Millisecond)
		told.Stopped = slept != nil && do == doRun
	}
	if q.Ask == askNow || q.Ask == askSleep && do != doRun {
		told.Now = harness.NowMillis(ctx)
	}
	if err == nil {
		c.write(told, false)
	}
	return err
}

// awaitMessage waits until there is a message for the process, the wait times out, or the thread that asked is stopped.
// It puts the result into the request that the parameter told points to. If the connection ends, the result is a
// message, so that the process reads the connection.
func (c *process) awaitMessage(ctx context.Context, q answer, do string, told *request) error {
	comes, err := harness.AwaitMessage(ctx, time.Duration(q.Timeout)*time.Millisecond)
	c.hears.Store(true)
	switch {
	case errors.Is(err, harness.ErrNotSubscribed):
		return fmt.Errorf("it asked for a message, and %w: %s", err, page)
	case err != nil && do == doRun:
		told.Stopped = true
		return nil
	}
	told.Message, told.TimedOut = comes || err != nil, !comes && err == nil
	return nil
}

// listen reads the lines of the process until they end or one breaks the protocol.
func (c *process) listen() {
	lines := bufio.NewReaderSize(c.out, longestLine)
	for {
		line, err := lines.ReadSlice('\n')
		if err == nil {
			err = c.dispatch(bytes.TrimSpace(line))
		} else {
			err = c.deathReason(line, err)
		}
		if err != nil {
			c.breakDown(err)
			return
		}
	}
}

// dispatch passes a line to the goroutine that waits for it. An error says how the line breaks the protocol.
func (c *process) dispatch(line []byte) error {
	a, err := parse(line)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answers, waits := c.waiting[a.ID]
	switch {
	case !waits && a.ID <= c.asked:
		return fmt.Errorf("it answered %d twice: %.60q: want one answer to each request, %s", a.ID, line, page)
	case !waits:
		return fmt.Errorf("it answered %d, which was never asked: %.60q: an answer has the id of what was asked, %s",
			a.ID, line, page)
	case a.Ask == "":
		delete(c.waiting, a.ID)
	}
	select {
	case answers <- a:
		return nil
	default:
		return fmt.Errorf("it asked again before it was told: %.60q", line)
	}
}
