package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHelpHasItsFlagsInGroups(t *testing.T) {
	for command, titles := range map[string][]string{
		"run":     {"Variant and load", "Topology", "Generators", "A Redis that is already there", "Faults", "Your own script or program", "Results"},
		"compare": {"Variant and load", "Topology", "A Redis that is already there", "Faults", "Your own script or program", "Results"},
		"explore": {"Variant and search", "At random", "Faults, each tried wherever it makes a difference", "Your own script or program", "In pieces", "Replay", "Results"},
	} {
		out, errs, code := run(t, command, "--help")
		require.Zero(t, code, errs)
		var seen []string
		for _, m := range regexp.MustCompile(`(?m)^(\w.*):$`).FindAllStringSubmatch(out, -1) {
			seen = append(seen, m[1])
		}
		require.Equal(t, append([]string{"Usage", "Examples"}, titles...), seen, "a flag in no group would be among others")
		_, groups, _ := strings.Cut(out, titles[0]+":\n") // examples have flags, too
		var flags []string
		for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(groups, -1) {
			flags = append(flags, m[1])
		}
		require.Contains(t, flags, "output")
		require.Contains(t, flags, "redis-server")
		all := len(flags)
		slices.Sort(flags)
		require.Len(t, slices.Compact(flags), all, "each once")
	}
}
