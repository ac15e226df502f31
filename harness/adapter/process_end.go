package adapter

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// This file notices that a process has ended, and ends it.

// breakDown records that the process must no longer be used, and why. Only the first reason counts.
func (c *process) breakDown(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		close(c.broken)
	}
}

// isBroken reports whether the process must no longer be used.
func (c *process) isBroken() bool {
	select {
	case <-c.broken:
		return true
	default:
		return false
	}
}

// deathReason returns an error that says why the process writes no further line. err is the error of reading the next
// line, and rest is the part of that line that was read.
func (c *process) deathReason(rest []byte, err error) error {
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("it wrote a line of more than %d bytes, which begins with %.40q: write nothing but answers "+
			"to standard output, %s", longestLine, rest, page)
	}
	half := ""
	if len(rest) > 0 {
		half = fmt.Sprintf(" in the middle of the line %.60q", rest)
	}
	if c.cmd == nil {
		return fmt.Errorf("it closed the connection%s", half)
	}
	select {
	case <-c.ended:
		return fmt.Errorf("it ended%s (%v)%s", half, c.cmd.ProcessState, c.lastWords)
	case <-time.After(time.Second):
		return fmt.Errorf("it closed its output%s%s", half, c.lastWords)
	}
}

// signal sends a signal to the process and its descendants. It sends nothing once the process has been waited for,
// since its pid may then belong to another process.
func (c *process) signal(s syscall.Signal) {
	if c.cmd == nil {
		return
	}
	select {
	case <-c.ended: // its number may be another's
	default:
		_ = syscall.Kill(-c.cmd.Process.Pid, s) // it may have ended
	}
}

// end kills the process and its descendants, and closes the pipes, the log and the clock of the process.
func (c *process) end() {
	_ = c.in.Close() // it may have ended
	if c.cmd == nil {
		return
	}
	killGroup(c.cmd)
	<-c.ended
	if c.clock != nil {
		c.clock.close()
	}
	_ = c.out.Close()
	if c.log != nil {
		_ = c.log.Close() // what it lacks is in lastWords
	}
}

// killGroup kills a process and its descendants, which are its process group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
}

// notStarted returns the error of a command that cannot be started. If somebody seems to have written a whole command
// line as one word, the error says how to write the command in a plan.
func notStarted(cmd *exec.Cmd, err error) error {
	if words := strings.Fields(cmd.Args[0]); len(words) > 1 && len(cmd.Args) == 1 {
		return fmt.Errorf("%q cannot be started: %w: a command is a list of words: [%s]", cmd.Args[0], err,
			strings.Join(words, ", "))
	}
	return fmt.Errorf("%q cannot be started: %w", cmd.Args[0], err)
}
