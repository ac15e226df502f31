package testenv_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
)

func TestRunsWithOtherSeedsTakeTheOtherCases(t *testing.T) {
	taken := map[int]int{}
	for _, seed := range []string{"", "1", "2", "20418"} {
		t.Setenv("DOUBLEGRANT_TEST_SEED", seed)
		for i := range 9 {
			if testenv.Sampled(i, 3) {
				taken[i]++
			}
		}
	}
	require.Equal(t, map[int]int{0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1, 6: 2, 7: 1, 8: 1}, taken)
	require.True(t, testenv.Sampled(5, 1))
	t.Setenv("DOUBLEGRANT_TESTS", "deep")
	require.True(t, testenv.Sampled(1, 3))
	t.Setenv("DOUBLEGRANT_TEST_SEED", "today")
	require.PanicsWithValue(t, `DOUBLEGRANT_TEST_SEED is "today": want a whole number, 0 or more`,
		func() { testenv.Seed() })
}

func TestWhatIsLeftOutIsNoted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bin", "left-out")
	t.Setenv("DOUBLEGRANT_LEFT_OUT", file)
	t.Setenv("DOUBLEGRANT_REQUIRE_CLIENTS", "")
	t.Setenv("DOUBLEGRANT_REQUIRE_BROWSER", "")
	t.Run("a client", func(t *testing.T) { testenv.LeftOut(t, "clients in PHP", "install php-redis") })
	t.Run("containers", func(t *testing.T) {
		testenv.Noting(t, "containers", "install Docker").Skipf("no %s", "daemon")
	})
	t.Setenv("PATH", t.TempDir())
	t.Run("a browser", func(t *testing.T) { testenv.Browser(t) })
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "clients in PHP: install php-redis\ncontainers: install Docker\n"+
		"pages in a browser: make browser, or install chromium\n", string(got))
}
