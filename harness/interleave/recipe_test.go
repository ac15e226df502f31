package interleave

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// full is a recipe with something in every field.
func full() Recipe {
	return Recipe{
		Program: "lock/set-nx-px-blind-del", Text: 0xdeadbeef, Regime: "growing", Lease: 10500 * time.Millisecond,
		Skew: -time.Second, Server: "7.0.15",
		Class: harness.DoubleGrant, Budget: Budget{Clients: 3, Crashes: 1, Expiries: 1},
		Schedule: []Choice{Run(0), Run(1), Pass(1), Run(0), Crash(2), LoseAnswer(1), Promote}, Commands: 12345,
	}
}

// usual is a typical recipe.
func usual() Recipe {
	r := full()
	r.Text, r.Regime, r.Lease, r.Skew = 0, "", 0, 0
	return r
}

func TestARecipeIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []Recipe{full(), usual(), {Class: "x", Budget: Budget{Clients: 2}, Schedule: []Choice{Run(0)}}} {
		s := r.String()
		require.Regexp(t, `^dg1-[A-Za-z0-9_-]+$`, s, "one word")
		require.True(t, IsRecipe(s))
		again, err := ParseRecipe(s)
		require.NoError(t, err)
		require.Equal(t, r, again)
		wrapped, err := ParseRecipe(" " + s[:20] + "\r\n\t" + s[20:] + "\n")
		require.NoError(t, err, "a mail program has wrapped it")
		require.Equal(t, r, wrapped)
	}
}

func TestARecipeHoldsEveryChoice(t *testing.T) {
	for _, c := range everyChoice() {
		r := Recipe{Budget: Budget{Clients: MaxClients}, Schedule: []Choice{Run(0), c, Run(1)}}
		again, err := ParseRecipe(r.String())
		require.NoError(t, err, c)
		require.Equal(t, r, again)
	}
}

// The bytes of a recipe keep their meaning when the numbers of kinds change.
func TestTheCodesOfARecipeStay(t *testing.T) {
	var b packer
	for _, c := range []Choice{
		Run(2), Crash(2), LoseAnswer(2), LoseCommand(2), Delay(2), Pass(2), Arrive(2), StopReplication,
		Promote, FlushScripts, Probe,
	} {
		b.choice(c)
	}
	require.Equal(t, packer("\x20\x21\x22\x23\x24\x25\x26\x0e\x1e\x2e\x5fprobe"), b)
}

func TestARecipeHoldsEveryCountOfABudget(t *testing.T) {
	r := usual()
	v := reflect.ValueOf(&r.Budget).Elem()
	for i := range v.NumField() {
		require.Equal(t, reflect.Int, v.Field(i).Kind())
		v.Field(i).SetInt(int64(i + 2))
	}
	r.Budget.Clients = 3
	again, err := ParseRecipe(r.String())
	require.NoError(t, err)
	require.Equal(t, r.Budget, again.Budget, "packedCounts lacks one")
}

// The checksum detects any lost, changed or added character.
func TestADamagedRecipeIsRefused(t *testing.T) {
	s := full().String()
	for i := range s {
		for _, bad := range []string{s[:i] + s[i+1:], s[:i] + "A" + s[i:], s[:i] + "b" + s[i+1:], s[:i]} {
			if bad == s {
				continue
			}
			_, err := ParseRecipe(bad)
			require.ErrorIs(t, err, ErrRecipe, bad)
			require.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestARecipeOfAnotherVersionIsRefusedWithTheReason(t *testing.T) {
	seal := func(change func(*packer)) string {
		var b packer
		change(&b)
		return withChecksum(b)
	}
	packed := func(r Recipe) []byte {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(r.String(), recipePrefix))
		require.NoError(t, err)
		return b[:len(b)-checksumSize]
	}
	with := func(change func(*Recipe)) string {
		r := usual()
		change(&r)
		return r.String()
	}
	for s, says := range map[string]string{
		"dg2-AAAA": "it has version dg2 of the format and this program reads dg1: use a newer " +
			"doublegrant",
		"hello":                  "a recipe begins with dg1-",
		"":                       "a recipe begins with dg1-",
		"dg1-":                   "damaged",
		"dg1-AAAA":               "damaged",
		"dg1-A!AA":               "damaged",
		seal(func(p *packer) {}): "it ends too early",
		seal(func(p *packer) { p.number(1 << 40) }):                 "longer than the recipe",
		seal(func(p *packer) { p.text("a\nb") }):                    "unprintable characters",
		withChecksum(append(packed(usual()), 0)):                    "contains more than this version knows",
		with(func(r *Recipe) { r.Schedule = nil }):                  "no steps",
		with(func(r *Recipe) { r.Budget.Clients = 1 }):              "1 clients",
		with(func(r *Recipe) { r.Budget.Clients = MaxClients + 1 }): "this version runs 2 to",
		with(func(r *Recipe) { r.Budget.Place = MaxPlaces - 2 }): "its last client has place 20, and this version " +
			"has only 19",
		with(func(r *Recipe) { r.Schedule = []Choice{Run(3)} }): "client 4 is out of place among 3 clients",
		with(func(r *Recipe) { r.Budget.Late = mostCount + 1 }): "of one kind",
	} {
		_, err := ParseRecipe(s)
		require.ErrorIs(t, err, ErrRecipe, s)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := ParseRecipe(with(func(r *Recipe) { r.Budget.Place = MaxPlaces - r.Budget.Clients }))
	require.NoError(t, err, "the last place")
	for _, code := range []uint64{9, 13, 3*codes + codeWorld, (MaxPerKind)*codes + 5,
		200*codes + codeWords, MaxClients * codes} {
		u := unpacker{}
		var p packer
		p.number(code)
		u.rest = p
		u.choice()
		require.NotEmpty(t, u.wrong, code)
	}
}

func TestARecipeIsNoPath(t *testing.T) {
	for s, want := range map[string]bool{
		"results/latest/anomalies/001-x.json": false, "dg1-old.json": false, "./dg1-x": false, "dg-1": false,
		"dg1": false, "": false,
		"dg1-": true, "dg12-AbC_-9": true, " dg1-AB\nCD ": true,
	} {
		require.Equal(t, want, IsRecipe(s), s)
	}
}

func TestTheFingerprintIsOfWhatClientsDo(t *testing.T) {
	steps := []Step{{Client: 1, Command: "GET k", Reply: "1"}, {Command: "10 s pass"},
		{Client: 2, Command: "SET k 1 NX", Belief: "holds it"}}
	same := []Step{{Client: 1, Command: "GET k", Reply: "2"}, {Client: 2, Command: "SET k 2 NX"}}
	require.Equal(t, CommandsOf(steps), CommandsOf(same))
	require.Equal(t, CommandsOf([]Step{{Client: 1, Command: "EVALSHA mine.lua k"}}),
		CommandsOf([]Step{{Client: 1, Command: "EVALSHA yours.lua k"}}))
	for _, other := range [][]Step{
		steps[:1], {steps[0], {Client: 2, Command: "SET j 1 NX"}}, {steps[0], {Client: 1, Command: "SET k 1 NX"}},
		{steps[2], steps[0]}, {steps[0], {Client: 2}},
	} {
		require.NotEqual(t, CommandsOf(steps), CommandsOf(other))
	}
}

// FuzzPackedRecipe looks for packed recipes that change when they are written and read again, and for errors of more
// than one line.
func FuzzPackedRecipe(f *testing.F) {
	for _, r := range []Recipe{full(), usual()} {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(r.String(), recipePrefix))
		require.NoError(f, err)
		f.Add(b[:len(b)-checksumSize])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRecipe(withChecksum(b))
		if err != nil {
			require.ErrorIs(t, err, ErrRecipe)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := ParseRecipe(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
