package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionNamesModuleCommitAndGo(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T15:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		}}
	require.Regexp(t, `^doublegrant v1\.2\.0, commit 0123456789ab of 2026-01-02T15:04:05Z, modified, go1\.26\.0, \w+/\w+$`, buildOf(info, true).String())
	require.Regexp(t, `^doublegrant \(devel\), go1`, buildOf(&debug.BuildInfo{GoVersion: "go1.26.0"}, true).String())
	require.Regexp(t, `^doublegrant unknown, go`, buildOf(nil, false).String())
}
