package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

func TestWhoWorksOnWhatIsShown(t *testing.T) {
	var out bytes.Buffer
	v := &workView{app: &app{err: newScreen(&out)}, work: &coordinate.Work{}, failed: map[string]int{},
		barred: map[string]bool{}}
	says := func(want string) {
		t.Helper()
		require.Equal(t, want, out.String())
		out.Reset()
	}
	w := workqueue.WorkState{
		Begun: []workqueue.OpenUnit{
			{ID: "0123456789", Worker: "a-1", Since: time.Now().Add(-3 * time.Second)},
			{ID: "abcdef", Failed: []string{"b-2: no space left", "c-3: no space left", "the last"}, Since: time.Now()},
		},
		Withdrawn: map[string]string{"b-2": "it failed 2 units"},
	}
	v.reportFailures(w)
	says("doublegrant: unit abcdef is handed out again, try 2 of 3: b-2: no space left\n" +
		"doublegrant: unit abcdef is handed out again, try 3 of 3: c-3: no space left\ndoublegrant: worker b-2 gets no " +
		"more work: it failed 2 units\n")
	v.reportFailures(w)
	says("")
	v.show(w)
	says("  0 of 0 units done; a-1: unit 01234567, 3s\n")
}
