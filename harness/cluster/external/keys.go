package external

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	removeWithin = 30 * time.Second
	removeAtOnce = 500 // number of keys that one SCAN inspects, and limit of the keys in one UNLINK
)

// removeKeys removes the run's keys. If some may remain, it calls Options.Note.
func (s *System) removeKeys() {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	if err := s.remove(ctx); err != nil && s.opts.Note != nil {
		s.opts.Note(fmt.Sprintf("keys that begin with %s may be left over: %v; to remove them: redis-cli --scan "+
			"--pattern "+
			"'%s*' | xargs redis-cli unlink",
			s.opts.Prefix, err, s.opts.Prefix))
	}
}

func (s *System) remove(ctx context.Context) error {
	r, err := s.primaryClient()
	if err != nil {
		return err
	}
	for cursor := uint64(0); ; {
		keys, next, err := r.Scan(ctx, cursor, pattern(s.opts.Prefix), removeAtOnce).Result()
		if err != nil {
			return fmt.Errorf("SCAN: the primary %w", plainError(err))
		}
		if err := s.unlink(ctx, r, keys); err != nil {
			return fmt.Errorf("UNLINK: the primary %w", plainError(err))
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// unlink removes those of the keys that have the prefix. It looks at each key, since servers may match the pattern
// differently.
func (s *System) unlink(ctx context.Context, r *redis.Client, keys []string) error {
	var ours []string
	for _, k := range keys {
		if strings.HasPrefix(k, s.opts.Prefix) {
			ours = append(ours, k)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	return r.Unlink(ctx, ours...).Err()
}

// pattern returns the pattern that matches all keys with the prefix.
func pattern(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(prefix) + "*"
}
