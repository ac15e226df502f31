package interleave

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/doublegrant/doublegrant/harness"
)

// Recipe is what a replay needs to run a counterexample again. Its String is one short word to pass on in a message or
// an issue; ParseRecipe reads the word. A recipe has no steps: a replay finds them again, and compares their
// fingerprint with Commands.
type Recipe struct {
	Program  string        // name of the program
	Text     uint32        // fingerprint of the program's text, if a user wrote it; 0: no user did
	Regime   string        // how callers propose numbers; empty: callers propose none
	Lease    time.Duration // lease that clients ask for; 0: the program's own
	Skew     time.Duration // how far the last client's clock is ahead
	Server   string        // version of the server that showed the violation; empty: unknown
	Class    harness.Class // class of the violation
	Budget   Budget
	Schedule []Choice
	Commands uint32 // result of CommandsOf for the counterexample's steps
}

// RecipeOf returns the recipe of a counterexample. The caller fills in the program and the server.
func RecipeOf(c Counterexample) Recipe {
	return Recipe{Class: c.Anomaly.Class, Budget: c.Budget, Schedule: c.Schedule, Commands: CommandsOf(c.Steps)}
}

// CommandsOf returns a fingerprint of what clients do in steps: the name and first argument of each command. Later
// arguments may be random tokens, so they are left out, and so are names of scripts, replies and beliefs.
func CommandsOf(steps []Step) uint32 {
	h := fnv.New32a()
	for _, s := range steps {
		if s.Client > 0 {
			words := strings.Fields(s.Command)
			if len(words) > 1 && strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") {
				words = words[:1]
			}
			_, _ = fmt.Fprintln(h, s.Client, words[:min(2, len(words))]) // never fails
		}
	}
	return h.Sum32()
}

// ErrRecipe marks a text that is not a valid recipe.
var ErrRecipe = errors.New("not a recipe of a schedule")

const (
	recipePrefix = "dg1-" // the number is the version of the format
	checksumSize = 4
)

// recipeLike matches what looks like a recipe of any version. The path of a file has dots or slashes.
var recipeLike = regexp.MustCompile(`^dg\d+-[\w\s-]*$`)

// IsRecipe reports whether s looks like a recipe and not like the path of a file. ParseRecipe may still refuse it.
func IsRecipe(s string) bool { return recipeLike.MatchString(strings.TrimSpace(s)) }

// String writes the recipe as one word of letters, digits, dashes and underscores. Names and numbers take about 60
// characters, each step one or two more.
func (r Recipe) String() string {
	var b packer
	b.text(r.Program)
	b.number(uint64(r.Text))
	b.text(r.Regime)
	b.signed(int64(r.Lease))
	b.signed(int64(r.Skew))
	b.text(r.Server)
	b.text(string(r.Class))
	b.budget(r.Budget)
	b.number(uint64(len(r.Schedule)))
	for _, c := range r.Schedule {
		b.choice(c)
	}
	b.number(uint64(r.Commands))
	return withChecksum(b)
}

// withChecksum writes packed bytes with their checksum as text.
func withChecksum(b []byte) string {
	b = binary.BigEndian.AppendUint32(b[:len(b):len(b)], checksum(b))
	return recipePrefix + base64.RawURLEncoding.EncodeToString(b)
}

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(append([]byte(recipePrefix), b...)) }

// ParseRecipe reads what Recipe.String wrote. It ignores spaces and line breaks, which mail programs may add. An error
// wraps ErrRecipe. It says in one line what is wrong and what to do.
func ParseRecipe(s string) (Recipe, error) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	coded, ok := strings.CutPrefix(s, recipePrefix)
	if !ok {
		if version, _, like := strings.Cut(s, "-"); like && IsRecipe(s) {
			return refuseRecipe("it has version %s of the format and this program reads %s: use a newer doublegrant",
				version, strings.TrimSuffix(recipePrefix, "-"))
		}
		return refuseRecipe("a recipe begins with %s: copy it again", recipePrefix)
	}
	b, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil || len(b) < checksumSize {
		return refuseRecipe("it is damaged: copy it again, from %s to its end", recipePrefix)
	}
	b, sum := b[:len(b)-checksumSize], binary.BigEndian.Uint32(b[len(b)-checksumSize:])
	if sum != checksum(b) {
		return refuseRecipe("its checksum is wrong: copy it again, from %s to its end",
			recipePrefix)
	}
	u := unpacker{rest: b}
	r := u.recipe()
	if u.wrong != "" {
		return refuseRecipe("%s: use the version of doublegrant that wrote it", u.wrong)
	}
	return r, nil
}

func refuseRecipe(format string, args ...any) (Recipe, error) {
	return Recipe{}, fmt.Errorf("%w: %s", ErrRecipe, fmt.Sprintf(format, args...))
}

func (u *unpacker) recipe() Recipe {
	r := Recipe{
		Program: u.text(), Text: u.fingerprint(), Regime: u.text(), Lease: time.Duration(u.signed()),
		Skew:   time.Duration(u.signed()),
		Server: u.text(), Class: harness.Class(u.text()), Budget: u.budget(),
	}
	for n := u.number(); n > 0 && u.wrong == ""; n-- {
		r.Schedule = append(r.Schedule, u.choice())
	}
	r.Commands = u.fingerprint()
	switch {
	case u.wrong != "":
	case len(u.rest) > 0:
		u.fail("it contains more than this version knows")
	case len(r.Schedule) == 0:
		u.fail("it has no steps")
	case r.Budget.Clients < 2 || r.Budget.Clients > MaxClients:
		u.fail("it has %d clients, and this version runs 2 to %d", r.Budget.Clients, MaxClients)
	case r.Budget.Place > MaxPlaces-r.Budget.Clients:
		u.fail("its last client has place %d, and this version has only %d "+
			"places", r.Budget.Clients+r.Budget.Place, MaxPlaces)
	default:
		u.clients(r)
	}
	return r
}

// clients records an error in the unpacker if the schedule has a client that is not in its budget.
func (u *unpacker) clients(r Recipe) {
	for _, c := range r.Schedule {
		if i, ok := c.Client(); ok && i >= r.Budget.Clients {
			u.fail("%v is out of place among %d clients", c, r.Budget.Clients)
		}
	}
}
