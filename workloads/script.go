package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// Script is an algorithm that is all Lua: the text that acquires a lock, claims a message or draws a number, and what
// it is given. ScriptVariant makes a variant of it.
//
// Keys, Args and ReleaseArgs are templates of KEYS and ARGV. They may contain {key}, the name of the lock, message or
// sequence, and
//
//	lock      {owner}, a token that no other attempt has; {ttl_ms} and {ttl_s}, the lease
//	dedup     {window_ms} and {window_s}, for how long a message stays marked
//	sequence  {proposed}, the number that the caller would like
//
// Times are rounded up. A hash tag around a placeholder is {{key}}. Any other word in braces is a mistake.
//
// The reply of a lock or filter is a yes or a no; that of a sequence is the number, an integer or a string of decimal
// digits. The texts run by EVALSHA, and by EVAL where Redis does not know them.
type Script struct {
	As     Family `json:"as" yaml:"as"`         // Lock, Dedup or Sequence
	Name   string `json:"name" yaml:"name"`     // such as the file's base name; the variant is "script/" and it
	Source string `json:"source" yaml:"source"` // Lua text of acquire, first or next

	Keys []string `json:"keys,omitempty" yaml:"keys,omitempty"` // default {key}
	Args []string `json:"args,omitempty" yaml:"args,omitempty"` // default, by family: {owner} {ttl_ms}; {window_s}; {proposed}

	// Yes is the reply of Source that means granted, or first: an integer, a string, the text of a status, or nil.
	// Default: 1, OK or true. Lua's true and false count as what Redis makes of them, 1 and nil.
	Yes string `json:"yes,omitempty" yaml:"yes,omitempty"`

	// Release is the Lua text that gives a lock up; default: lua.CompareDelete. It has the same KEYS, and its yes is 1,
	// OK or true, whatever Yes is.
	Release     string   `json:"release,omitempty" yaml:"release,omitempty"`
	ReleaseArgs []string `json:"releaseArgs,omitempty" yaml:"releaseArgs,omitempty"` // default {owner}
}

// placeholders of each family.
var placeholders = map[Family][]string{
	Lock:     {"{key}", "{owner}", "{ttl_ms}", "{ttl_s}"},
	Dedup:    {"{key}", "{window_ms}", "{window_s}"},
	Sequence: {"{key}", "{proposed}"},
}

var defaultArgs = map[Family][]string{
	Lock:     {"{owner}", "{ttl_ms}"},
	Dedup:    {"{window_s}"},
	Sequence: {"{proposed}"},
}

// defaultYes are the replies that mean yes unless a script says otherwise.
var defaultYes = []string{"1", "OK"}

// ScriptVariant makes a variant of a script. An error says what to change in the script's settings.
func ScriptVariant(s Script) (Variant, error) {
	if err := s.validate(); err != nil {
		return Variant{}, err
	}
	v := Variant{Doc: "your script " + s.Name, Source: "your file", Claim: OneNode, OneKey: !s.withDefaults().named(), texts: map[string]string{s.Name + ".lua": s.Source}}
	if s.Release != "" {
		v.texts["release.lua"] = s.Release
	}
	id := "script/" + s.Name
	switch s.As {
	case Lock:
		v.Flaws = []Flaw{{harness.DoubleGrant, Failover}}
		return lockVariant(id, func(r redis.UniversalClient) Locker { return s.locker(r) }, v), nil
	case Dedup:
		v.Flaws = []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}}
		return dedupVariant(id, func(r redis.UniversalClient) Deduper { return s.deduper(r) }, v), nil
	default:
		v.Flaws = []Flaw{{harness.DuplicateNumber, Failover}, {harness.Regression, Failover}}
		return sequenceVariant(id, func(r redis.UniversalClient) Sequencer { return s.sequencer(r) }, v), nil
	}
}

// validate finds mistakes that need no Redis.
func (s Script) validate() error {
	if s.Name == "" {
		return errors.New("script: it has no name: give it one, such as the base name of its file")
	}
	_, known := placeholders[s.As]
	lockOnly := s.Release != "" || len(s.ReleaseArgs) > 0
	switch {
	case !known:
		return fmt.Errorf("script %s: %q is no family of scripts: choose %s, %s or %s", s.Name, s.As, Lock, Dedup, Sequence)
	case strings.TrimSpace(s.Source) == "":
		return fmt.Errorf("script %s: its text is empty: give the Lua text to run", s.Name)
	case lockOnly && s.As != Lock:
		return fmt.Errorf("script %s: only a lock has a release, and this is a %s: leave the release out", s.Name, s.As)
	case s.Yes != "" && s.As == Sequence:
		return fmt.Errorf("script %s: a sequence answers with a number, not with yes or no: leave %q out", s.Name, s.Yes)
	}
	return s.validateTemplates()
}

// placeholder is what looks like one.
var placeholder = regexp.MustCompile(`\{[A-Za-z0-9_-]+\}`)

func (s Script) validateTemplates() error {
	s = s.withDefaults()
	known := placeholders[s.As]
	for _, t := range slices.Concat(s.Keys, s.Args, s.ReleaseArgs) {
		for _, p := range placeholder.FindAllString(t, -1) {
			if !slices.Contains(known, p) {
				return fmt.Errorf("script %s: %s in %q stands for nothing in a %s: use %s",
					s.Name, p, t, s.As, alternatives(known))
			}
		}
	}
	if s.As == Dedup && !s.named() {
		return fmt.Errorf("script %s: neither its keys nor its arguments contain {key}, so it cannot tell one message from "+
			"another: put {key} where the name belongs", s.Name)
	}
	return nil
}

// named reports whether the script is told the name of its lock, message or sequence. One that is not knows one only.
func (s Script) named() bool {
	named := func(t string) bool { return strings.Contains(t, "{key}") }
	return slices.ContainsFunc(s.Keys, named) || slices.ContainsFunc(s.Args, named)
}

// alternatives are words in a sentence: "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (s Script) withDefaults() Script {
	if s.Keys == nil {
		s.Keys = []string{"{key}"}
	}
	if s.Args == nil {
		s.Args = defaultArgs[s.As]
	}
	if s.Release == "" {
		s.Release = lua.CompareDelete
	}
	if s.ReleaseArgs == nil && s.As == Lock {
		s.ReleaseArgs = []string{"{owner}"}
	}
	return s
}

// main is the Lua text that acquires, claims or draws.
func (s Script) main(r redis.UniversalClient) luaText {
	s = s.withDefaults()
	yes := defaultYes
	if s.Yes != "" {
		yes = []string{asReply(s.Yes)}
	}
	return luaText{"script " + s.Name, s.As, r, redis.NewScript(s.Source), s.Keys, s.Args, yes}
}

// release is the Lua text that gives a lock up.
func (s Script) release(r redis.UniversalClient) luaText {
	s = s.withDefaults()
	name := "the release of script " + s.Name
	return luaText{name, s.As, r, redis.NewScript(s.Release), s.Keys, s.ReleaseArgs, defaultYes}
}

// asReply is the reply that Redis makes of what a script returns by that name.
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
	name       string // in messages
	family     Family
	redis      redis.UniversalClient
	script     *redis.Script
	keys, args []string // templates
	yes        []string // replies that mean it
}

// answer runs the text and returns the reply as words.
func (t *luaText) answer(ctx context.Context, v values) (string, error) {
	reply, err := t.script.Run(ctx, t.redis, v.keys(t.keys), v.args(t.args)...).Result()
	if err != nil && err != redis.Nil {
		return "", t.failed(err)
	}
	return t.words(reply)
}

// says runs the text and reports whether its reply is a yes.
func (t *luaText) says(ctx context.Context, v values) (bool, error) {
	reply, err := t.answer(ctx, v)
	return err == nil && slices.Contains(t.yes, reply), err
}

// decimal is what a sequence returns. Numbers below zero are left to the checkers.
var decimal = regexp.MustCompile(`^-?[0-9]+$`)

// number runs the text and returns the number that it drew.
func (t *luaText) number(ctx context.Context, v values) (string, error) {
	reply, err := t.answer(ctx, v)
	if err == nil && !decimal.MatchString(reply) {
		return "", &ScriptError{t.name, fmt.Sprintf("returned %s: %s", quoted(reply), t.expected())}
	}
	return reply, err
}

// noReply is how a nil reply is written.
const noReply = "nil"

// words writes a reply down. A boolean, which is one only in RESP3, counts as what it is in RESP2.
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

// expected says what the text should return.
func (t *luaText) expected() string {
	if t.family == Sequence {
		return "a sequence returns a number"
	}
	return fmt.Sprintf("%s would be a yes; any other integer or string, and nil, a no", t.yesInLua())
}

// yesInLua is what to return for a yes.
func (t *luaText) yesInLua() string {
	if slices.Equal(t.yes, defaultYes) {
		return alternatives(append(defaultYes[:len(defaultYes):len(defaultYes)], "true"))
	}
	return alternatives(t.yes)
}

// ScriptError says what is wrong with a script: it does not compile, fails, or gives a reply that makes no sense. It
// will go wrong again, so a caller had better stop and show it to the script's author.
type ScriptError struct {
	Script  string // which text: "script NAME" or "the release of script NAME"
	Problem string // what it does, in words that follow its name
}

func (e *ScriptError) Error() string { return e.Script + " " + e.Problem }

// Where Redis writes a line number, and what it writes that is of no use without the digests of its cache.
var (
	luaLine  = regexp.MustCompile(`user_script:(\d+)`)
	luaNoise = regexp.MustCompile(`^ERR (Error compiling script \(new function\): )?(user_script:\d+: )?` +
		`| script: [0-9a-f]{40}, on @user_script:\d+\.$`)
)

// failed makes a ScriptError of an error that is the script's. Redis may have refused it for other reasons, and it may
// not have got there.
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

// values are what placeholders stand for.
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
	ttl              time.Duration // last asked for: releases may want it, too
}

func (s Script) locker(r redis.UniversalClient) *userLock {
	return &userLock{acquire: s.main(r), release: s.release(r)}
}

func (l *userLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	l.ttl = ttl
	return l.acquire.says(ctx, lockValues(key, owner, ttl))
}

func (l *userLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.release.says(ctx, lockValues(key, owner, l.ttl))
}

type userFilter struct{ first luaText }

func (s Script) deduper(r redis.UniversalClient) *userFilter { return &userFilter{s.main(r)} }

func (f *userFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.first.says(ctx, dedupValues(id, window))
}

type userSequence struct{ next luaText }

func (s Script) sequencer(r redis.UniversalClient) *userSequence { return &userSequence{s.main(r)} }

func (q *userSequence) Next(ctx context.Context, key, proposed string) (string, error) {
	return q.next.number(ctx, sequenceValues(key, proposed))
}

// quoted shows a reply in a message, or its beginning.
func quoted(reply string) string {
	if reply == noReply || decimal.MatchString(reply) {
		return reply
	}
	return strconv.Quote(reply[:min(len(reply), 40)])
}

// trialKey is the name that the trial uses.
const trialKey = "doublegrant-trial"

// trialValues are those of the callers in the trial, who ask one after the other.
func trialValues() []values {
	const term = 10 * time.Second
	callers := []values{lockValues(trialKey, trialKey+"-1", term), lockValues(trialKey, trialKey+"-2", term)}
	for _, v := range callers {
		maps.Copy(v, dedupValues(trialKey, term))
		maps.Copy(v, sequenceValues(trialKey, "23"))
	}
	return callers
}

// Load compiles the script on the server of r and tries it, on a name that nobody else uses, so that mistakes show
// before a run: the first to ask must be granted, or be first, or get a number; and who has a lock can release it,
// whereupon the next is granted. It deletes the KEYS of the trial before and after, including those that are the same
// for every name. What is wrong with the script is a ScriptError.
func (s Script) Load(ctx context.Context, r redis.UniversalClient) error {
	if err := s.validate(); err != nil {
		return err
	}
	texts := []luaText{s.main(r)}
	if s.As == Lock {
		texts = append(texts, s.release(r))
	}
	for _, t := range texts {
		if err := t.load(ctx); err != nil {
			return s.onLoad(err)
		}
	}
	if err := s.clean(ctx, r); err != nil {
		return s.onLoad(err)
	}
	err, dirty := s.try(ctx, r), s.clean(context.WithoutCancel(ctx), r)
	return s.onLoad(cmp.Or(err, dirty))
}

// onLoad says which script an error is about, unless it does so itself.
func (s Script) onLoad(err error) error {
	var own *ScriptError
	if err == nil || errors.As(err, &own) {
		return err
	}
	return fmt.Errorf("script %s: try it: %w", s.Name, err)
}

// try makes the calls of the trial.
func (s Script) try(ctx context.Context, r redis.UniversalClient) error {
	callers, main := trialValues(), s.main(r)
	switch s.As {
	case Lock:
		return s.tryLock(ctx, r, callers)
	case Dedup:
		return main.mustSayYes(ctx, callers[0], "the message is new")
	default:
		_, err := main.number(ctx, callers[0])
		return err
	}
}

func (s Script) tryLock(ctx context.Context, r redis.UniversalClient, callers []values) error {
	l := s.locker(r)
	if err := l.acquire.mustSayYes(ctx, callers[0], "the lock is free"); err != nil {
		return err
	}
	if err := l.release.mustSayYes(ctx, callers[0], "the lock is the caller's"); err != nil {
		return err
	}
	return l.acquire.mustSayYes(ctx, callers[1], "the lock has been released")
}

// mustSayYes runs the text where only yes is right.
func (t *luaText) mustSayYes(ctx context.Context, v values, because string) error {
	reply, err := t.answer(ctx, v)
	if err != nil || slices.Contains(t.yes, reply) {
		return err
	}
	return &ScriptError{t.name, fmt.Sprintf("answered %s where the answer has to be yes, since %s: a yes is %s",
		quoted(reply), because, t.yesInLua())}
}

// clean deletes the KEYS of the trial, one by one since they may be in different slots.
func (s Script) clean(ctx context.Context, r redis.UniversalClient) error {
	for _, v := range trialValues() {
		for _, key := range v.keys(s.withDefaults().Keys) {
			if err := r.Del(ctx, key).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
