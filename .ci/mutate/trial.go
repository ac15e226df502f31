package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial is the package's test binary with all mutants, and the stages in which its tests run under a mutant.
type trial struct {
	binary, dir string
	flags       []string
	steps       []stage

	mu          sync.Mutex
	lastNoticer map[string]string // test that noticed the last mutant of each file
}

// stage is a set of tests that run in one process.
type stage struct {
	tests   []string
	limit   time.Duration // a mutant whose tests take longer counts as noticed, since it may never end
	maxTest time.Duration // longest time of any of the tests without a mutant
}

// survivor is the start of the line that mutate prints for a mutant that survives.
const survivor = "survived "

// quickTest and shortTest bound the time of a test in the first two stages.
const (
	quickTest = 20 * time.Millisecond
	shortTest = 200 * time.Millisecond
)

// overlay writes the package with its mutants into a folder, and returns the overlay file for the go command.
func (p pkg) overlay(dir string) (string, error) {
	files := map[string]string{}
	woven := maps.Clone(p.woven)
	woven[filepath.Join(p.dir, "mutants_selector.go")] = fmt.Sprintf(selector, p.name)
	for i, path := range slices.Sorted(maps.Keys(woven)) {
		files[path] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(files[path], []byte(woven[path]), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, data, 0o600)
}

// compile builds the tests with all mutants, and runs them once without any to measure their time.
func compile(ctx context.Context, p pkg, dir string, o options) (*trial, error) {
	overlay, err := p.overlay(dir)
	if err != nil {
		return nil, err
	}
	t := &trial{binary: filepath.Join(dir, "mutants.test"), dir: p.dir, flags: o.flags,
		lastNoticer: map[string]string{}}
	if o.skip != "" {
		t.flags = append([]string{"-test.skip", o.skip}, t.flags...)
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", t.binary, "-overlay", overlay, p.path)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutants do not compile: %w\n%s", err, out)
	}
	return t, t.measure(ctx, o)
}

// measure runs the tests without a mutant and sorts them into stages by their time.
func (t *trial) measure(ctx context.Context, o options) error {
	out, err := t.command(ctx, 0, "-test.v", "-test.parallel=1").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, failures(out))
	}
	steps := []stage{{maxTest: quickTest}, {maxTest: shortTest}, {maxTest: o.longest}}
	var long []string
	took := durations(out)
	for _, name := range slices.Sorted(maps.Keys(took)) {
		i := slices.IndexFunc(steps, func(s stage) bool { return took[name] <= s.maxTest })
		if i < 0 {
			long = append(long, name)
			continue
		}
		steps[i].tests = append(steps[i].tests, name)
		steps[i].limit += took[name]
	}
	for _, s := range steps {
		if len(s.tests) > 0 {
			s.limit = 10*time.Second + 5*s.limit
			t.steps = append(t.steps, s)
		}
	}
	if len(long) > 0 {
		fmt.Fprintln(os.Stderr, "mutate: too long for each mutant, see -longest:", strings.Join(long, ", "))
	}
	return nil
}

var testEnd = regexp.MustCompile(`(?m)^( *)--- (?:PASS|SKIP|FAIL): ([^/\s]+)(/\S+)? \((\S+)\)$`)

// durations returns how long each test took. For a test with parallel parts it is their sum.
func durations(out []byte) map[string]time.Duration {
	whole, parts := map[string]time.Duration{}, map[string]time.Duration{}
	for _, m := range testEnd.FindAllSubmatch(out, -1) {
		took, err := time.ParseDuration(string(m[4]))
		if err != nil {
			continue
		}
		name := string(m[2])
		switch len(m[1]) {
		case 0:
			whole[name] += took
		case 4:
			parts[name] += took
		}
	}
	for name := range whole {
		whole[name] = max(whole[name], parts[name])
	}
	return whole
}

// failures returns the lines that name the failed tests.
func failures(out []byte) []byte {
	var lines [][]byte
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("--- FAIL")) || bytes.HasPrefix(line, []byte("panic:")) {
			lines = append(lines, line)
		}
	}
	return bytes.Join(lines, nil)
}

func (t *trial) command(ctx context.Context, n int, flags ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.binary, append(flags, t.flags...)...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", environment, n), "GOMEMLIMIT=1GiB")
	return cmd
}

// all runs the mutants, several in parallel, and returns those that no test noticed. It prints each survivor at once.
func (t *trial) all(ctx context.Context, mutants []mutant, jobs int, out io.Writer) (map[int]bool, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	survived, tried := map[int]bool{}, 0
	began := time.Now()
	queue := make(chan mutant)
	for range jobs {
		wg.Go(func() {
			for m := range queue {
				noticed := t.noticed(ctx, m)
				if ctx.Err() != nil {
					continue
				}
				mu.Lock()
				tried++
				if !noticed {
					survived[m.number] = true
					_, _ = fmt.Fprintf(out, survivor+"%s:%d: %s\n", m.file, m.line, m.key())
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	_, _ = fmt.Fprintf(out, "%d mutants, %d survived, %s\n", tried, len(survived), time.Since(began).Round(time.Second))
	return survived, nil
}

// noticed reports whether a test fails, or does not end, with the mutant. The test that noticed the last mutant of the
// file runs first.
func (t *trial) noticed(ctx context.Context, m mutant) bool {
	t.mu.Lock()
	steps, first := t.steps, t.lastNoticer[m.file]
	t.mu.Unlock()
	if first != "" {
		steps = append([]stage{{tests: []string{first}, limit: t.steps[len(t.steps)-1].limit}}, steps...)
	}
	for _, s := range steps {
		within, cancel := context.WithTimeout(ctx, s.limit)
		tests := "^(" + strings.Join(s.tests, "|") + ")$"
		out, err := t.command(within, m.number, "-test.failfast", "-test.run", tests).CombinedOutput()
		cancel()
		if err != nil {
			if f := firstFailure.FindSubmatch(out); f != nil {
				t.mu.Lock()
				t.lastNoticer[m.file] = string(f[1])
				t.mu.Unlock()
			}
			return true
		}
	}
	return false
}

var firstFailure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
