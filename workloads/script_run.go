package workloads

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// mainText returns the Lua text that acquires, claims or draws.
func (s Script) mainText(r redis.UniversalClient) luaText {
	s = s.withDefaults()
	yes := defaultYes
	if s.Yes != "" {
		yes = []string{asReply(s.Yes)}
	}
	return luaText{"script " + s.Name, s.As, r, redis.NewScript(s.Source), s.Keys, s.Args, yes, s.NoErrors}
}

// releaseText returns the Lua text that releases a lock.
func (s Script) releaseText(r redis.UniversalClient) luaText {
	s = s.withDefaults()
	name := "the release of script " + s.Name
	return luaText{name, s.As, r, redis.NewScript(s.Release), s.Keys, s.ReleaseArgs, defaultYes, nil}
}

// asReply returns what a Lua value becomes in a reply of Redis: 1 for true, nil for false.
func asReply(yes string) string {
	switch yes {
	case "true":
		return "1"
	case "false":
		return noReply
	}
	return yes
}

// luaText is one of the texts of a script, ready to run.
type luaText struct {
	name       string // name of the text in messages
	family     Family
	redis      redis.UniversalClient
	script     *redis.Script
	keys, args []string // templates of KEYS and ARGV
	yes        []string // replies that mean yes
	noErrors   []string // beginnings of error replies that mean no
}

// isNoError reports whether err is an error reply that means no, such as RATELIMITED: see Script.NoErrors.
func (t *luaText) isNoError(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && slices.ContainsFunc(t.noErrors, func(begin string) bool {
		return strings.HasPrefix(strings.TrimPrefix(reply.Error(), "ERR "), strings.TrimPrefix(begin, "ERR "))
	})
}

// answer runs the text and returns the reply in words, see the method words.
func (t *luaText) answer(ctx context.Context, v values) (string, error) {
	reply, err := t.script.Run(ctx, t.redis, v.keys(t.keys), v.args(t.args)...).Result()
	switch {
	case t.isNoError(err) && t.family == Sequence:
		return "", fmt.Errorf("%w: %w", ErrNoEffect, err)
	case t.isNoError(err):
		return err.Error(), nil // like any other reply that is not a yes
	case err != nil && err != redis.Nil:
		return "", t.failed(err)
	}
	return t.words(reply)
}

// says runs the text and reports whether its reply is a yes.
func (t *luaText) says(ctx context.Context, v values) (bool, error) {
	reply, err := t.answer(ctx, v)
	return err == nil && slices.Contains(t.yes, reply), err
}

// decimal matches what a sequence may return. That includes numbers below zero, which the checkers judge.
var decimal = regexp.MustCompile(`^-?[0-9]+$`)

// number runs the text and returns the number that it drew.
func (t *luaText) number(ctx context.Context, v values) (string, error) {
	reply, err := t.answer(ctx, v)
	if err == nil && !decimal.MatchString(reply) {
		return "", &ScriptError{t.name, fmt.Sprintf("returned %s: %s", quoteReply(reply), t.expected())}
	}
	return reply, err
}

// noReply is the word for a nil reply.
const noReply = "nil"

// words returns a reply as text. A boolean, which only RESP3 has, counts as its equivalent in RESP2.
func (t *luaText) words(reply any) (string, error) {
	switch v := reply.(type) {
	case nil:
		return noReply, nil
	case bool:
		return asReply(strconv.FormatBool(v)), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case string:
		return v, nil
	}
	return "", &ScriptError{t.name, fmt.Sprintf("returned %s: %s", kindOf(reply), t.expected())}
}

// kindOf names the kinds of replies that no script should give.
func kindOf(reply any) string {
	switch reply.(type) {
	case []any:
		return "an array"
	case map[any]any:
		return "a map"
	case float64:
		return "a double"
	default:
		return fmt.Sprintf("a %T", reply)
	}
}

// expected says what the text should return, for an error message.
func (t *luaText) expected() string {
	if t.family == Sequence {
		return "a sequence returns a number"
	}
	return fmt.Sprintf("%s would be a yes; any other integer or string, and nil, a no", t.yesInLua())
}

// yesInLua says what a script has to return for a yes, for an error message.
func (t *luaText) yesInLua() string {
	if slices.Equal(t.yes, defaultYes) {
		return alternatives(append(defaultYes[:len(defaultYes):len(defaultYes)], "true"))
	}
	return alternatives(t.yes)
}

// ScriptError says what is wrong with a script: it does not compile, fails, or gives a reply that makes no sense. It
// will fail again, so a caller should stop and show the error to the script's author.
type ScriptError struct {
	Script  string // which text: "script NAME" or "the release of script NAME"
	Problem string // what is wrong, in words that follow the text's name
}

func (e *ScriptError) Error() string { return e.Script + " " + e.Problem }

// luaLine matches the line number in an error reply, and luaNoise the parts that do not help a script's author.
var (
	luaLine  = regexp.MustCompile(`user_script:(\d+)`)
	luaNoise = regexp.MustCompile(`^ERR (Error compiling script \(new function\): )?(user_script:\d+: )?` +
		`| script: [0-9a-f]{40}, on @user_script:\d+\.$`)
)

// failed returns err as a ScriptError if it shows a mistake in the script, and otherwise err.
func (t *luaText) failed(err error) error {
	if reply := redis.Error(nil); !errors.As(err, &reply) || notExecuted(err) || !luaLine.MatchString(err.Error()) {
		return err
	}
	line, cause := luaLine.FindStringSubmatch(err.Error())[1], luaNoise.ReplaceAllString(err.Error(), "")
	return &ScriptError{t.name, fmt.Sprintf("fails at line %s: %s", line, cause)}
}

// load sends the text to Redis, which compiles it.
func (t *luaText) load(ctx context.Context) error {
	err := t.script.Load(ctx, t.redis).Err()
	var broken *ScriptError
	if errors.As(t.failed(err), &broken) {
		broken.Problem = strings.Replace(broken.Problem, "fails at", "does not compile:", 1)
		return broken
	}
	return err
}

// values maps placeholders to what they stand for.
type values map[string]string

func lockValues(key, owner string, ttl time.Duration) values {
	return values{"{key}": key, "{owner}": owner, "{ttl_ms}": milliseconds(ttl), "{ttl_s}": seconds(ttl)}
}

func dedupValues(id string, window time.Duration) values {
	return values{"{key}": id, "{window_ms}": milliseconds(window), "{window_s}": seconds(window)}
}

func sequenceValues(key, proposed string) values {
	return values{"{key}": key, "{proposed}": proposed}
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, (d+time.Millisecond-1).Milliseconds()), 10)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(fullSeconds(d).Seconds())) }

// fill puts the values into a template.
func (v values) fill(template string) string {
	if word, ok := v[template]; ok { // as most templates are
		return word
	}
	return placeholder.ReplaceAllStringFunc(template, func(p string) string { return v[p] })
}

func (v values) keys(templates []string) []string {
	out := make([]string, len(templates))
	for i, t := range templates {
		out[i] = v.fill(t)
	}
	return out
}

func (v values) args(templates []string) []any {
	out := make([]any, len(templates))
	for i, t := range templates {
		out[i] = v.fill(t)
	}
	return out
}

type userLock struct {
	acquire, release luaText
	ttl              time.Duration // lease of the last acquire, which a release may use too
}

func (s Script) locker(r redis.UniversalClient) *userLock {
	return &userLock{acquire: s.mainText(r), release: s.releaseText(r)}
}

func (l *userLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.ttl = ttl
	return l.acquire.says(ctx, lockValues(key, owner, ttl))
}

func (l *userLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.release.says(ctx, lockValues(key, owner, l.ttl))
}

type userFilter struct{ first luaText }

func (s Script) deduper(r redis.UniversalClient) *userFilter { return &userFilter{s.mainText(r)} }

func (f *userFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.first.says(ctx, dedupValues(id, window))
}

type userSequence struct{ next luaText }

func (s Script) sequencer(r redis.UniversalClient) *userSequence { return &userSequence{s.mainText(r)} }

func (q *userSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return q.next.number(ctx, sequenceValues(key, proposed))
}

// quoteReply quotes a reply, or its beginning, for a message.
func quoteReply(reply string) string {
	if reply == noReply || decimal.MatchString(reply) {
		return reply
	}
	return strconv.Quote(reply[:min(len(reply), 40)])
}
