package adapter_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/workloads"
)

// fakeWord is the first argument of processes that are a fake adapter; the second says what it does.
const fakeWord = "be-an-adapter-of-the-tests"

// TestMain runs the fake adapter if the arguments ask for it, and otherwise the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == fakeWord {
		os.Exit(beFake(os.Args[2]))
	}
	os.Exit(m.Run())
}

// fakeOf returns the adapter whose processes do what mode says.
func fakeOf(as workloads.Family, mode string, can ...string) workloads.Adapter {
	return workloads.Adapter{As: as, Name: mode, Command: []string{os.Args[0], fakeWord, mode}, Can: can}
}

// variant makes the variant of an adapter, whose processes end with the test.
func variant(t *testing.T, c workloads.Adapter) workloads.Variant {
	t.Helper()
	v, err := adapter.Variant(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// within sets a time limit of processes, and restores it when the test is over.
func within(t *testing.T, limit *time.Duration, d time.Duration) {
	usual := *limit
	t.Cleanup(func() { *limit = usual })
	*limit = d
}

// task is a line to the fake adapter: a request, or an answer to its question.
type task struct {
	ID       int    `json:"id"`
	Do       string `json:"do"`
	Redis    string `json:"redis"`
	Key      string `json:"key"`
	Owner    string `json:"owner"`
	TTL      int64  `json:"ttl_ms"`
	Proposed string `json:"proposed"`
	Now      int64  `json:"now_ms"`
}

// abilities holds the answers of the fake adapter to init, by mode. In other modes it is a lock without extend.
var abilities = map[string]string{
	"tomorrow":    `"version":2,"can":["acquire","release"]`,
	"filter":      `"version":1,"can":["claim","confirm"]`,
	"counter":     `"version":1,"can":["next"]`,
	"nothing":     `"version":1,"can":["dance"]`,
	"half-a-lock": `"version":1,"can":["acquire"]`,
	"one":         `"version":1,"can":["acquire","release"],"symmetric":true,"clients":1`,
	"resets":      `"version":1,"can":["acquire","release"],"reset":true`,
	"one-of-many": `"version":1,"can":["acquire","release"],"masters":3`,
	"king":        `"version":1,"can":["acquire","release"],"masters":1`,
	"many-counts": `"version":1,"can":["next"],"masters":3`,
	"sundial":     `"version":1,"can":["acquire","release"],"clock":"sundial"`,
}

// beFake is a lock, filter or counter that speaks RESP without a library. Its lock acquires by SET NX PX and releases
// any owner's lock by DEL; in mode "compare" it checks the owner first. Most other modes break down in one way each.
func beFake(mode string) int {
	if mode == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	r := &resp{network: "tcp"}
	if strings.HasPrefix(mode, "drives") {
		return r.drive(mode)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var t task
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			return 1
		}
		fmt.Println(r.perform(mode, t, in))
	}
	return 0
}

// drive is a test that drives itself. It acquires a lock, releases it by DEL and acquires it again. In mode
// "drives-right" it acquires once, and releases by a script that compares the owner.
func (r *resp) drive(mode string) int {
	r.connectTo(mode, os.Getenv("REDIS_URL"))
	say := func(text string) { _, _ = r.do("ECHO", "dg "+text) }
	tell := func(yes bool, err error) bool {
		answer := map[bool]string{true: "ok", false: "no"}[yes]
		if err != nil {
			answer = "info " + err.Error()
		}
		say("return " + answer)
		return yes
	}
	lock := task{Key: "lock", Owner: os.Getenv("DOUBLEGRANT_CLIENT"), TTL: 10000, Do: "acquire"}
	switch mode {
	case "drives-badly":
		say("invoke dance lock")
	case "drives-out-of-order":
		say("return ok")
	case "drives-nowhere":
		fmt.Fprintln(os.Stderr, "no such module")
		return 4
	}
	say("invoke acquire lock 10000")
	if mode == "drives-and-listens" {
		_, _ = r.do("SUBSCRIBE", "released")
	}
	if !tell(r.operate("compare", lock)) {
		return 0
	}
	lock.Do = "release"
	say("invoke release lock")
	if mode == "drives-right" {
		got, err := r.do("EVAL", `return redis.call("get", KEYS[1]) == ARGV[1] and redis.call("del", KEYS[1]) or 0`,
			"1", lock.Key, lock.Owner)
		tell(got == ":1", err)
		return 0
	}
	tell(r.operate("blind", lock))
	lock.Do = "acquire"
	say("invoke acquire lock 10000")
	tell(r.operate("compare", lock))
	return 0
}

// perform does what a task says and returns the line to answer.
func (r *resp) perform(mode string, t task, in *bufio.Scanner) string {
	switch t.Do {
	case "init":
		r.connectTo(mode, t.Redis)
		if mode == "tells" {
			fmt.Fprint(os.Stderr, t.Redis)
		}
		is := abilities[mode]
		if is == "" {
			is = `"version":1,"can":["acquire","release"]`
		}
		return fmt.Sprintf(`{"id":%d,"ok":true,%s}`, t.ID, is)
	case "reset":
		return fmt.Sprintf(`{"id":%d,"ok":true}`, t.ID)
	case "next":
		got, err := r.do("INCR", t.Key)
		if err != nil {
			return reply(t.ID, false, err)
		}
		return fmt.Sprintf(`{"id":%d,"ok":true,"number":%q}`, t.ID, strings.TrimPrefix(got, ":"))
	}
	r.misbehave(mode, t, in)
	yes, err := r.operate(mode, t)
	return reply(t.ID, yes, err)
}

// connectTo takes the address of Redis from a URL, except in mode "nowhere".
func (r *resp) connectTo(mode, redis string) {
	to, err := url.Parse(redis)
	if err != nil {
		os.Exit(1)
	}
	if r.address = to.Host; to.Scheme == "unix" {
		r.network, r.address = "unix", to.Path
	}
	if mode == "nowhere" {
		r.address = "127.0.0.1:1"
	}
}

func reply(id int, ok bool, err error) string {
	if err != nil {
		return fmt.Sprintf(`{"id":%d,"info":%q}`, id, err.Error())
	}
	return fmt.Sprintf(`{"id":%d,"ok":%t}`, id, ok)
}

// misbehave does what a lock must not do.
func (r *resp) misbehave(mode string, t task, in *bufio.Scanner) {
	switch {
	case mode == "idles" && t.Do == "acquire":
		time.Sleep(time.Hour)
	case t.Do != "release":
	case mode == "asks":
		before := ask(t.ID, `"ask":"now"`, in)
		if after := ask(t.ID, `"ask":"sleep","ms":11000`, in); after-before < 11000 {
			os.Exit(2)
		}
	case mode == "stops":
		ask(t.ID, `"ask":"stop","thread":4711`, in)
	case mode == "waits": // until a second has passed, whatever happens meanwhile
		for until := ask(t.ID, `"ask":"now"`, in) + 1000; ask(t.ID, `"ask":"sleep","ms":200`, in) < until; {
		}
	case mode == "dies":
		fmt.Fprintln(os.Stderr, "lost my head")
		os.Exit(3)
	case mode == "half":
		fmt.Printf(`{"id":%d,"o`, t.ID)
		os.Exit(0)
	case mode == "sleeps":
		time.Sleep(time.Hour)
	case mode == "babbles":
		fmt.Println("releasing now")
	case mode == "long":
		fmt.Println(strings.Repeat("a", 10<<20))
	case mode == "twice":
		fmt.Printf(`{"id":%d,"ok":true}`+"\n", t.ID)
	case mode == "unasked":
		fmt.Println(`{"id":4711,"ok":true}`)
	case mode == "counts":
		fmt.Printf(`{"id":%d,"ok":true,"number":0}`+"\n", t.ID)
	case mode == "garbles":
		_ = r.conn.PrintfLine("DEL lock")
		_, _ = r.conn.ReadLine()
	}
}

// ask asks the harness for the time, and returns it.
func ask(id int, what string, in *bufio.Scanner) int64 {
	var told task
	fmt.Printf(`{"id":%d,%s}`+"\n", id, what)
	in.Scan()
	_ = json.Unmarshal(in.Bytes(), &told) // a wrong line has the time 0
	return told.Now
}

// operate does an operation of a lock or a filter.
func (r *resp) operate(mode string, t task) (bool, error) {
	ttl := strconv.FormatInt(t.TTL, 10)
	switch {
	case mode == "elsewhere":
		return true, nil
	case t.Do == "acquire" && t.TTL%1000 == 0: // as go-redis has it
		got, err := r.do("SET", t.Key, t.Owner, "ex", strconv.FormatInt(t.TTL/1000, 10), "NX")
		return got == "+OK", err
	case t.Do == "acquire":
		got, err := r.do("SET", t.Key, t.Owner, "px", ttl, "NX")
		return got == "+OK", err
	case t.Do == "claim":
		got, err := r.do("SET", t.Key, "claimed", "NX", "PX", ttl)
		return got == "+OK", err
	case t.Do == "confirm":
		got, err := r.do("SET", t.Key, "done", "XX", "PX", ttl)
		return got == "+OK", err
	case mode == "compare" || mode == "wears":
		if r.releases++; mode == "wears" && r.releases%3 == 0 { // it is not the same in each schedule
			_, _ = r.do("EXISTS", t.Key)
		}
		got, err := r.do("GET", t.Key)
		if err != nil || got != t.Owner {
			return false, err
		}
	}
	got, err := r.do("DEL", t.Key)
	return got == ":1", err
}

// resp is a connection that speaks RESP.
type resp struct {
	network, address string
	conn             *textproto.Conn
	releases         int
}

// do sends a command and returns the reply: a bulk string's text, or the line of any other.
func (r *resp) do(args ...string) (got string, err error) {
	defer func() {
		if err != nil && r.conn != nil {
			_ = r.conn.Close()
			r.conn = nil
		}
	}()
	if r.conn == nil {
		if r.conn, err = textproto.Dial(r.network, r.address); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(r.conn.W, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(r.conn.W, "$%d\r\n%s\r\n", len(a), a)
	}
	if err := r.conn.W.Flush(); err != nil {
		return "", err
	}
	got, err = r.conn.ReadLine()
	if err == nil && strings.HasPrefix(got, "$") && got != "$-1" {
		return r.conn.ReadLine()
	}
	if strings.HasPrefix(got, "-") {
		return "", errors.New(got)
	}
	return got, err
}
