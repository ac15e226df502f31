package workloads

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// Script is an algorithm written in Lua: the text that acquires a lock, claims a message or draws a number, and its
// arguments. ScriptVariant makes a variant of it.
//
// Keys, Args and ReleaseArgs are templates of KEYS and ARGV. They may contain {key}, the name of the lock, message or
// sequence, and
//
//	lock      {owner}, a token that no other attempt has; {ttl_ms} and {ttl_s}, the lease
//	dedup     {window_ms} and {window_s}, how long a message stays marked
//	sequence  {proposed}, the number that the caller would like
//
// Times are rounded up. {{key}} is the name with a hash tag around it. Any other word in braces is a mistake.
//
// The reply of a lock or filter is a yes or a no; that of a sequence is the number, an integer or a string of decimal
// digits. The texts run by EVALSHA, and by EVAL if Redis does not know them.
type Script struct {
	As Family `json:"as" yaml:"as"` // Lock, Dedup or Sequence
	// Name follows "script/" in the variant's id, such as the file's base name.
	Name   string `json:"name" yaml:"name"`
	Source string `json:"source" yaml:"source"` // Lua text that acquires, claims or draws

	// File and ReleaseFile are the paths of the files from which Source and Release were read, if any. The command that
	// repeats the run needs them. They are not stored with results, since the files may change.
	File        string `json:"-" yaml:"file,omitempty"`
	ReleaseFile string `json:"-" yaml:"releaseFile,omitempty"`

	Keys []string `json:"keys,omitempty" yaml:"keys,omitempty"` // default {key}
	// Args defaults to {owner} {ttl_ms} for a lock, {window_s} for a dedup and {proposed} for a sequence.
	Args []string `json:"args,omitempty" yaml:"args,omitempty"`

	// Yes is the reply of Source that means granted, or first: an integer, a string, the text of a status, or nil.
	// Default: 1, OK or true. Lua's true and false count as what Redis turns them into, 1 and nil.
	Yes string `json:"yes,omitempty" yaml:"yes,omitempty"`

	// NoErrors lists the beginnings of error replies, such as "RATELIMITED", that count as a no: Source has changed
	// nothing. Any other error leaves open what was done.
	NoErrors []string `json:"noErrors,omitempty" yaml:"noErrors,omitempty"`

	// Release is the Lua text that releases a lock; default: lua.CompareDelete. It gets the same KEYS as Source. It says
	// yes by 1, OK or true, whatever Yes is.
	Release string `json:"release,omitempty" yaml:"release,omitempty"`
	// ReleaseName is the name of Release in counterexamples; default "release.lua".
	ReleaseName string   `json:"releaseName,omitempty" yaml:"releaseName,omitempty"`
	ReleaseArgs []string `json:"releaseArgs,omitempty" yaml:"releaseArgs,omitempty"` // default {owner}
}

// placeholders lists the placeholders of each family.
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

// defaultYes lists the replies that mean yes unless a script says otherwise.
var defaultYes = []string{"1", "OK"}

// ScriptVariant makes a variant of a script. An error says what to change in the script's settings.
func ScriptVariant(s Script) (Variant, error) {
	if err := s.validate(); err != nil {
		return Variant{}, err
	}
	v := Variant{Doc: "your script " + s.Name, Source: "your file", Claim: OneNode, OneKey: !s.usesKey(),
		habits: s.usesKey(), texts: map[string]string{s.Name + ".lua": s.Source}}
	if s.Release != "" {
		v.texts[s.releaseName()] = s.Release
	}
	id := ScriptPrefix + s.Name
	switch s.As {
	case Lock:
		v.Flaws = []Flaw{{harness.DoubleGrant, Failover}}
		v.ComparesNames = s.comparesNames()
		return lockVariant(id, func(r redis.UniversalClient) Locker { return s.locker(r) }, v), nil
	case Dedup:
		v.Flaws = []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}}
		return dedupVariant(id, func(r redis.UniversalClient) Deduper { return s.deduper(r) }, v), nil
	default:
		v.Flaws = []Flaw{{harness.DuplicateNumber, Failover}, {harness.Regression, Failover}}
		if v.OwnNumbers = !s.uses("{proposed}"); v.OwnNumbers { // its numbers may still expire
			v.Flaws = append(v.Flaws, Flaw{harness.DuplicateNumber, MemoryEvicts},
				Flaw{harness.Regression, MemoryEvicts})
		}
		return sequenceVariant(id, func(r redis.UniversalClient) Sequencer { return s.sequencer(r) }, v), nil
	}
}

// validate returns the first mistake in the settings that can be found without Redis.
func (s Script) validate() error {
	if s.Name == "" {
		return errors.New("script: it has no name: give it one, such as the base name of its file")
	}
	_, isFamily := placeholders[s.As]
	lockOnly := s.Release != "" || len(s.ReleaseArgs) > 0
	switch {
	case !isFamily:
		return fmt.Errorf("script %s: %q is not a family of scripts: choose %s, %s or %s", s.Name, s.As, Lock, Dedup,
			Sequence)
	case strings.TrimSpace(s.Source) == "":
		return fmt.Errorf("script %s: its text is empty: give the Lua text to run", s.Name)
	case lockOnly && s.As != Lock:
		return fmt.Errorf("script %s: only a lock has a release, and this is a %s: leave the release out", s.Name, s.As)
	case s.Yes != "" && s.As == Sequence:
		return fmt.Errorf("script %s: a sequence answers with a number, not with yes or no: leave %q out", s.Name,
			s.Yes)
	}
	if slices.ContainsFunc(s.NoErrors, func(e string) bool { return strings.TrimSpace(e) == "" }) {
		return fmt.Errorf("script %s: an empty noErrors would make every error a no: give the beginning of the error "+
			"reply, such as RATELIMITED", s.Name)
	}
	return s.validateTemplates()
}

// releaseName returns the name of the text Release in counterexamples. It differs from the name of the text Source.
func (s Script) releaseName() string {
	if s.ReleaseName == "" || s.ReleaseName == s.Name+".lua" {
		return "release.lua"
	}
	return s.ReleaseName
}

// placeholder matches anything that looks like a placeholder.
var placeholder = regexp.MustCompile(`\{[A-Za-z0-9_-]+\}`)

func (s Script) validateTemplates() error {
	s = s.withDefaults()
	allowed := placeholders[s.As]
	for _, t := range slices.Concat(s.Keys, s.Args, s.ReleaseArgs) {
		for _, p := range placeholder.FindAllString(t, -1) {
			if !slices.Contains(allowed, p) {
				return fmt.Errorf("script %s: %s in %q stands for nothing in a %s: use %s",
					s.Name, p, t, s.As, alternatives(allowed))
			}
		}
	}
	if s.As == Dedup && !s.usesKey() {
		return fmt.Errorf("script %s: neither its keys nor its arguments contain {key}, so it cannot tell one message "+
			"from another: put {key} where the name belongs", s.Name)
	}
	return nil
}

// usesKey reports whether the script is told the name of its lock, message or sequence. Without the name, all locks or
// sequences are the same to the script.
func (s Script) usesKey() bool { return s.uses("{key}") }

// uses reports whether a placeholder is among the script's arguments when it acquires, claims or draws.
func (s Script) uses(placeholder string) bool {
	s = s.withDefaults()
	return slices.ContainsFunc(slices.Concat(s.Keys, s.Args),
		func(t string) bool { return strings.Contains(t, placeholder) })
}

// alternatives joins words for a sentence: "a, b or c".
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
