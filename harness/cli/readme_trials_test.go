package cli_test

// Why blocks cannot run here.
const (
	aDaemon      = "it needs a Docker daemon; image_test.go runs the image where there is one"
	aCluster     = "it needs a Kubernetes cluster; .ci/manifests checks the manifests"
	manyMachines = "it needs several machines; coordinate_faults_test.go and generators_test.go run it on one"
	testsOfOurs  = "it runs this project's tests"
)

// Shell lines that prepare what the text around a block mentions.
const (
	aClone      = `ln -sfn "$ROOT/workloads" workloads`
	scriptFiles = `doublegrant init lua`
	aSuite      = `cp "$GIVEN"/* .`
)

// trials says how the blocks and commands of READMEs are tried, unless they run within seconds and exit with 0. Keys
// are a README, and the beginning of a block or command.
var trials = map[string]map[string]trial{
	"README.md": {
		"doublegrant explore lock/set-nx-px-blind-del": {exits: "1"},
		"doublegrant explore --replay dg1":             {exits: "1"},
		"go install github.com": {long: true, before: `export GOBIN=$PWD/bin; cd "$ROOT"`,
			instead: []string{"@latest", ""}},
		"doublegrant demo":        {cannot: "testdata/long/demo.txtar runs it, for more than a minute"},
		"docker run":              {cannot: aDaemon},
		"package mylock":          {long: true, by: testFile},
		"Acquire(":                {long: true, by: methods},
		"doublegrant explore -- ": {long: true},
		// A busy machine may not reach a tenth of the default rate, without which the verdict is unknown.
		"doublegrant run --adapter":    {long: true, instead: []string{`lock.py"`, `lock.py" --rate 500 --duration 3s`}},
		"doublegrant run --script":     {long: true, instead: []string{"give.lua", "give.lua --rate 500"}},
		"name: our locks":              {long: true, by: suiteRun, before: scriptFiles},
		"export DOUBLEGRANT_REDIS_URL": {long: true, by: external},
		"doublegrant run lock/set-nx-px --nemesis kill-primary": {long: true, exits: "0|1",
			instead: []string{"repeat 3", "repeat 1 --rate 500"}},
	},
	"harness/cli/README.md": {
		"doublegrant coordinate": {cannot: manyMachines},
		"doublegrant work":       {cannot: manyMachines},
	},
	"harness/cluster/external/README.md": {
		"export DOUBLEGRANT_REDIS_URL": {long: true, by: external},
		"ACL SETUSER":                  {by: leastRights},
	},
	"harness/experiments/README.md": {
		"doublegrant reproduce split-brain-guards": {cannot: "it takes 8 minutes; a part of test-long runs every experiment"},
		"doublegrant reproduce kleppmann-2016-pause": {long: true, exits: "0|1", // one trial is too few on a busy machine
			instead: []string{"trials 5", "trials 1"}},
	},
	"harness/generators/README.md": {
		"doublegrant run lock/set-nx-px --clients 8000": {long: true,
			instead: []string{"8000 --generators 4", "80 --generators 2 --rate 500 --duration 2s"}},
		"doublegrant run lock/set-nx-px --clients 60000": {cannot: manyMachines},
	},
	"harness/granttest/README.md": {
		"import ":                            {long: true, by: testFile},
		"// Lock":                            {long: true, by: methods},
		"--- FAIL: TestMyLock":               {long: true, by: failedTest},
		"granttest.Lock(t, granttest.Shared": {long: true, by: statement},
	},
	"harness/history/README.md": {
		"history/":    {by: historyFolder},
		`{"client":3`: {by: historyLines},
	},
	"harness/kubernetes/README.md": {
		"make harness-image": {cannot: aDaemon},
		"docker":             {cannot: aDaemon}, "FROM": {cannot: aDaemon}, "RUN": {cannot: aDaemon},
		"COPY": {cannot: aDaemon}, "ENTRYPOINT": {cannot: aDaemon},
		"sed": {cannot: aCluster}, "kubectl": {cannot: aCluster},
	},
	"harness/plan/README.md": {"variant: lock/set-nx-px": {by: planFile}},
	"harness/suite/README.md": {
		"name: our locks":                     {by: suiteIn("mine.yaml"), before: `doublegrant init lua lua`},
		"doublegrant suite mine.yaml --shard": {before: aSuite, instead: []string{"mine.yaml", "short.yaml"}},
		"doublegrant merge": {before: "mkdir artifacts; mv results artifacts/1; for i in 2 3; do " +
			"doublegrant suite short.yaml --shard $i/3 --results artifacts/$i >/dev/null || exit 9; done"},
	},
	"harness/suite/examples/README.md": {"steps:": {by: workflow}},
	"reports/README.md": {
		"REPORT_OUT=": {long: true, before: `cd "$ROOT"; export TMPDIR=$OLDPWD`,
			instead: []string{"/tmp/reports", "$OLDPWD/reports"}},
	},
	"workloads/bugs/README.md": {
		"doublegrant reproduce bug/all": {cannot: "make bugs runs it, for minutes, and needs many libraries"},
	},
	"workloads/CORPUS.md": {
		"go test":                {cannot: testsOfOurs},
		"DOUBLEGRANT_TESTS=long": {cannot: testsOfOurs},
		"make verify-planted":    {cannot: testsOfOurs},
	},
	"workloads/adapters/README.md": {
		"cp workloads/adapters":     {before: aClone},
		"doublegrant explore -- ":   {long: true, instead: []string{"explore", "explore --clients 2 --late 0"}},
		"doublegrant run --adapter": {exits: "0|1|2", long: true},
		`> {"id":1`:                 {by: conversation("lock.py")},
		`ECHO `:                     {by: announcements, long: true},
		`> {"id":4`:                 {by: conversation("watchdog_lock.py")},
	},
}
