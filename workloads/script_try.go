package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// trialValues returns the values of the two callers by which Load and Constant try a script. The callers ask one after
// the other.
func trialValues() []values {
	const term = 10 * time.Second
	callers := []values{lockValues(TrialKey, TrialKey+"-1", term), lockValues(TrialKey, TrialKey+"-2", term)}
	for _, v := range callers {
		maps.Copy(v, dedupValues(TrialKey, term))
		maps.Copy(v, sequenceValues(TrialKey, "23"))
	}
	return callers
}

// Load compiles the script on the server of r and tries it, so that mistakes show before a run. It uses TrialKey, a
// name that nobody else uses. The first caller must be granted the lock, be first, or get a number. The owner of a lock
// must be able to release it, and the next caller must then be granted it within a second. Load deletes the KEYS of the
// trial before and after, including those that are the same for every name. A mistake in the script is a ScriptError.
func (s Script) Load(ctx context.Context, r redis.UniversalClient) error {
	if err := s.validate(); err != nil {
		return err
	}
	texts := []luaText{s.mainText(r)}
	if s.As == Lock {
		texts = append(texts, s.releaseText(r))
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

// onLoad adds the script's name to an error, unless the error has it already.
func (s Script) onLoad(err error) error {
	var scriptErr *ScriptError
	if err == nil || errors.As(err, &scriptErr) {
		return err
	}
	return fmt.Errorf("script %s: try it: %w", s.Name, err)
}

// try runs the script for the callers that Load describes.
func (s Script) try(ctx context.Context, r redis.UniversalClient) error {
	callers, main := trialValues(), s.mainText(r)
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

// Constant asks the script for two callers in a row. If both get the same yes, or the same number, Constant returns
// that answer: the script then answers without looking at what is stored. Otherwise it returns "". It deletes the KEYS
// of the trial as Load does. Call Load first.
func (s Script) Constant(ctx context.Context, r redis.UniversalClient) (answer string, err error) {
	main := s.mainText(r)
	var answers []string
	for _, caller := range trialValues() {
		reply, err := main.answer(ctx, caller)
		if err != nil { // the second caller may be refused by an error
			return "", s.onLoad(s.clean(context.WithoutCancel(ctx), r))
		}
		answers = append(answers, reply)
	}
	err = s.onLoad(s.clean(context.WithoutCancel(ctx), r))
	if answers[0] != answers[1] || s.As != Sequence && !slices.Contains(main.yes, answers[0]) {
		return "", err
	}
	return answers[0], err
}

func (s Script) tryLock(ctx context.Context, r redis.UniversalClient, callers []values) error {
	l := s.locker(r)
	if err := l.acquire.mustSayYes(ctx, callers[0], "the lock is free"); err != nil {
		return err
	}
	if err := l.release.mustSayYes(ctx, callers[0], "the lock is the caller's"); err != nil {
		return err
	}
	err := l.acquire.mustSayYes(ctx, callers[1], "the lock has been released")
	for until := time.Now().Add(coolDown); err != nil && time.Now().Before(until); time.Sleep(coolDown / 100) {
		if l.acquire.mustSayYes(ctx, callers[1], "") == nil {
			return nil
		}
	}
	return err
}

// coolDown bounds how long a lock may still be refused after its release, since some algorithms free a lock a little
// later.
const coolDown = time.Second

// mustSayYes runs the text and returns an error unless it says yes. In the error the parameter reason, such as "the
// lock is free", follows the word "since".
func (t *luaText) mustSayYes(ctx context.Context, v values, reason string) error {
	reply, err := t.answer(ctx, v)
	if err != nil || slices.Contains(t.yes, reply) {
		return err
	}
	problem := fmt.Sprintf("answered %s where the answer has to be yes, since %s: a yes is %s", quoteReply(reply),
		reason, t.yesInLua())
	if isMain := strings.HasPrefix(t.name, "script "); isMain && reply != noReply && reply != "0" {
		problem += ", or what yes (--yes) names"
	}
	return &ScriptError{t.name, problem}
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
