# Everything a person or CI does here. `make demo` and `make test` need Go; they fetch the rest (see `redis`, `cc`).

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
MISSPELL    ?= github.com/golangci/misspell/cmd/misspell@v0.7.0
BIN         := bin/doublegrant
RESULTS     ?= results

.PHONY: all build demo explore bugs test test-raced test-others left-out test-busy test-long \
	test-long-algorithms test-long-users test-long-pages test-long-searches test-long-random test-long-faults \
	test-long-raced test-long-today test-readmes test-deep verify-checkers verify-planted mutate mutate-today \
	mutate-checkers mutate-interleave mutate-strategy lint bench bench-load image harness-image redis cc adapters \
	clients browser clean help

all: build

help:
	@echo "make build            $(BIN)"
	@echo "make demo             a tour on real Redis, under two minutes; exit code 0 if all came out as documented"
	@echo "make explore          every interleaving of the whole catalogue; exit code 0 if all came out as documented"
	@echo "make bugs             show every bug of real libraries, and write the table of them"
	@echo "make test             all tests but the long ones; seven to eight minutes on two cores the first time"
	@echo "make test-busy        the same while every core is kept busy"
	@echo "make test-long        the long tests; three quarters of an hour (today's part: make test-long-today)"
	@echo "make test-deep        every fault on every target, every kind of failover, the largest searches; half an hour"
	@echo "make verify-checkers  a million histories for each checker against its rule (HISTORIES=100000: a tenth)"
	@echo "make verify-planted   explorer and load on algorithms with planted defects; twelve minutes"
	@echo "make mutate           small changes that no test notices; hours (MUTATE: a part; today's: make mutate-today)"
	@echo "make lint             gofmt, go vet, staticcheck, spelling"
	@echo "make bench            benchmarks of the checkers and the explorer"
	@echo "make bench-load       the harness's load beside redis-benchmark and bare client loops"
	@echo "make image            a Docker image of this machine's redis-server, for --on docker without a registry"
	@echo "make harness-image    a Docker image of doublegrant, for macOS, Windows and Kubernetes"
	@echo "make adapters         install the interpreters and Redis clients of adapters in other languages"
	@echo "make browser          install a Chromium, for tests of pages"
	@echo "make clean            remove bin and $(RESULTS)"

build:
	$(GO) build -o $(BIN) ./harness/cmd/doublegrant

demo: redis build
	./$(BIN) demo --results $(RESULTS)

explore: redis build
	./$(BIN) explore --all --results $(RESULTS)

# The module in .ci has the mutation tester, and the check of the manifests for Kubernetes. Its tests read files of this
# module, whose changes the go command does not see from there. So their results are not cached.
#
# Tests named TestLong... are for test-long. Tests named TestRaced..., and all tests of the packages of RACED, in which
# goroutines meet, run under the race detector; without a C compiler they run without it. Most tests wait for Redis or
# for time, so two lanes run side by side, with some packages at a time in each. Packages that take longest come first.
RACED    := ./harness/cluster ./harness/cluster/fabric ./nemesis ./harness ./harness/history
RACED_IN := ./harness/explore
FIRST    := ./harness/granttest ./harness/cli ./harness/cluster/docker ./harness/plan ./harness/explore ./workloads \
	./harness/results
OTHERS    = $(FIRST) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACED) $(FIRST))")
TESTING  := -vet=off -timeout 20m -parallel 4
RACE      = $$(command -v $${CC:-cc} >/dev/null && echo -race)

# Tests note here what they leave out for want of a program.
export DOUBLEGRANT_LEFT_OUT := $(CURDIR)/bin/left-out

test: redis $(if $(DOUBLEGRANT_REQUIRE_CLIENTS),adapters) $(if $(DOUBLEGRANT_REQUIRE_BROWSER),browser)
	@rm -f $(DOUBLEGRANT_LEFT_OUT)
	@$(MAKE) --no-print-directory cc 2>/dev/null || \
		{ mkdir -p bin; echo "the race detector: install a C compiler, gcc and libc6-dev" > $(DOUBLEGRANT_LEFT_OUT); }
	@$(MAKE) --no-print-directory build >/dev/null
	@found=$$(./$(BIN) doctor) || { echo "$$found" | grep '^BAD'; echo "the tests need this to be mended first"; exit 1; }
	@$(MAKE) --no-print-directory image >/dev/null 2>&1 || true # tests of containers then take redis:7, or are left out
	@$(MAKE) --no-print-directory -j 2 test-raced test-others
	@$(MAKE) --no-print-directory left-out

test-raced:
	@$(GO) test $(RACE) $(TESTING) -p 2 -skip '^TestLong' $(RACED)
	@$(GO) test $(RACE) $(TESTING) -p 2 -run '^TestRaced' $(RACED_IN)

test-others:
	@$(GO) test $(TESTING) -p 3 -skip '^TestLong|^TestRaced' $(OTHERS)
	@$(GO) test -C .ci -count 1 $(TESTING) ./...

left-out:
	@if [ -s $(DOUBLEGRANT_LEFT_OUT) ]; then \
		echo; echo "left out; sudo make cc adapters browser installs what Debian and Ubuntu have:"; \
		sort -u $(DOUBLEGRANT_LEFT_OUT) | sed 's/^/  /'; fi

# The tests beside a process for each core that only keeps it busy. These processes end with the tests, or after an
# hour.
test-busy:
	@for core in $$(seq $$(nproc)); do timeout 3600 sh -c 'while :; do :; done' & busy="$$busy $$!"; done; \
	trap 'kill $$busy' EXIT; trap 'exit 130' INT TERM; GOFLAGS="$$GOFLAGS -count=1" $(MAKE) --no-print-directory test

# What `test` leaves out, in parts of some minutes. SEED chooses the cases where a run takes only some. The figures of
# failovers are compared with an observer's, to within 50 ms, so they run alone, at the end of the faults.
SEED  ?= 0
PARTS := pages users algorithms searches faults raced
LONG   = DOUBLEGRANT_TESTS=long DOUBLEGRANT_TEST_SEED=$(SEED) $(GO) test -count 1 $(TESTING) -run '^TestLong'

test-long:
	@rm -f $(DOUBLEGRANT_LEFT_OUT)
	@for part in $(PARTS) random; do $(MAKE) --no-print-directory test-long-$$part || exit 1; done
	@$(MAKE) --no-print-directory left-out

test-long-algorithms: redis
	$(LONG) -p 2 ./workloads ./harness/results

# Pages in browsers, and bugs of libraries.
test-long-pages: redis
	$(LONG) -p 2 ./harness/trackrecord ./reports

test-long-users: redis
	$(LONG) -p 2 ./harness/granttest ./workloads/adapters

test-long-searches: redis
	$(LONG) -skip '^TestLongRandom' ./harness/explore

# Ten minutes and more, so no day's part has it.
test-long-random: redis
	$(LONG) -timeout 60m -run '^TestLongRandom' ./harness/explore

test-long-faults: redis
	$(LONG) -p 2 ./harness/cli ./nemesis ./harness/plan ./harness/workqueue/jetstream
	$(LONG) ./harness/analysis

# The blocks of READMEs, and the search for secrets in what is written, that take too long for `test`: a minute.
test-readmes: redis clients
	$(LONG) -run 'TestLong(Readmes|NoSecret)' -parallel 6 ./harness/cli

# The quick tests of packages that `test` does not race, under the race detector.
test-long-raced: redis cc
	$(GO) test -race -count 1 $(TESTING) -p 2 -skip '^TestLong|^TestRaced' ./workloads ./harness/cluster/... \
		./harness/suite ./harness/generators ./harness/results ./harness/workqueue/...

# The part for today, and today's mutants. Each round of days has a seed of its own.
test-long-today:
	@day=$$(($$(date +%s) / 86400)); set -- $(PARTS); shift $$((day % $$#)); \
	echo "today's part of test-long; to repeat it: make test-long-$$1 SEED=$$((day / $(words $(PARTS))))"; \
	rm -f $(DOUBLEGRANT_LEFT_OUT); \
	$(MAKE) --no-print-directory test-long-$$1 SEED=$$((day / $(words $(PARTS)))) && \
	$(MAKE) --no-print-directory mutate-today left-out

# Every bug of real libraries, and the table of them: workloads/bugs/README.md.
bugs: redis build
	./$(BIN) reproduce bug/all --results $(RESULTS) --table workloads/bugs/README.md

# All cases of the tables of which `test` and `test-long` have a part.
test-deep: redis cc
	DOUBLEGRANT_TESTS=deep $(GO) test -p 1 -count 1 -timeout 60m -v -run '^TestLong' \
		./harness/plan ./harness/results ./harness/analysis
	DOUBLEGRANT_TESTS=deep $(GO) test -race -count 1 -timeout 60m -parallel 4 ./harness/explore

# Every small history against each checker's rule, porcupine and brute force, and correct simulated servers, which take
# most of the time. The histories are new each time; a failure prints the seed that repeats it.
HISTORIES ?= 1000000

verify-checkers:
	DOUBLEGRANT_TESTS=deep $(GO) test -count 1 -timeout 180m -v \
		-run 'CheckersKeepTheirRules|EveryTinyHistory|SimulatedServers' ./checkers \
		-rapid.checks=$(HISTORIES) -rapid.seed=0

# Every algorithm of the corpus (workloads/CORPUS.md) in the explorer, and under load, four side by side.
verify-planted: redis
	DOUBLEGRANT_TESTS=deep $(GO) test -count 1 -parallel 4 -timeout 30m -v -run Corpus ./workloads

# Changes of one comparison, condition, sum or return at a time; exit code 1 if no test notices one that mutants.txt of
# the package does not list. The 2,060 mutants of checkers take nine minutes on two cores, the 1,200 of explore hours.
# For a part: make mutate MUTATE='-file ^mutex' or MUTATE='-every 10'. Tests that take long are left out: what matters
# has a quick one.
MUTATE     ?=
MUTATE_BIN := bin/mutate

.PHONY: $(MUTATE_BIN)
$(MUTATE_BIN):
	@$(GO) build -C .ci -o ../$(MUTATE_BIN) ./mutate

mutate: redis mutate-checkers mutate-interleave mutate-strategy
	$(MUTATE_BIN) -skip PruningLosesNoVerdict $(MUTATE) ./harness/explore
	for room in command frontier model resp schedule; do \
		$(MUTATE_BIN) $(MUTATE) ./harness/explore/internal/$$room || exit; done

# A part for each day of the packages whose mutants are all noticed or listed.
mutate-today:
	@day=$$(($$(date +%s) / 86400)); part() { echo "-every $$1 -from $$((day % $$1))"; }; \
	echo "today's mutants: $$(part 4) of interleave, $$(part 8) of the strategies, $$(part 32) of the checkers"; \
	$(MAKE) --no-print-directory mutate-interleave MUTATE="$$(part 4)" && \
	$(MAKE) --no-print-directory mutate-strategy MUTATE="$$(part 8)" && \
	$(MAKE) --no-print-directory mutate-checkers MUTATE="$$(part 32)"

mutate-checkers: $(MUTATE_BIN)
	$(MUTATE_BIN) -longest 1m -skip 'EveryTinyHistory|MemoryDoesNotGrow|Simulated|Planted' $(MUTATE) \
		./checkers -- -rapid.checks=300 -rapid.shrinktime=1ms -rapid.seed=1

mutate-interleave: $(MUTATE_BIN)
	$(MUTATE_BIN) $(MUTATE) ./harness/interleave

mutate-strategy: $(MUTATE_BIN)
	$(MUTATE_BIN) $(MUTATE) ./harness/explore/internal/strategy

image: redis build
	./$(BIN) doctor --on docker --build-image

# The image's program is static, so that it needs no library of this machine, and has no tables for debuggers (13 MiB).
harness-image: redis
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o bin/static/doublegrant ./harness/cmd/doublegrant
	./bin/static/doublegrant doctor --build-harness-image

# The spelling check passes over a typo that a test needs.
lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt would change: $$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -C .ci ./...
	$(GO) run $(STATICCHECK) ./...
	cd .ci && $(GO) run $(STATICCHECK) ./...
	$(GO) run $(MISSPELL) -error -i nmae harness workloads nemesis checkers lua reports .ci .github Makefile README.md

# BenchmarkScale takes some minutes: porcupine is given 30 s for each history.
bench:
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./checkers ./harness/explore

bench-load: redis
	@rm -f $(DOUBLEGRANT_LEFT_OUT)
	$(GO) test -run '^$$' -bench 'Benchmark(Load|Links)$$' -benchtime 1x ./harness/results
	$(GO) test -run '^$$' -bench 'BenchmarkLoad$$' -benchtime 1x ./workloads/adapters
	@$(MAKE) --no-print-directory left-out

clean:
	rm -rf bin $(RESULTS)

# redis-server: the one named by DOUBLEGRANT_REDIS_SERVER, the one in the PATH, or the distribution's package.
redis:
	@if [ -n "$$DOUBLEGRANT_REDIS_SERVER" ] || command -v redis-server >/dev/null; then exit 0; fi; \
	$(call install,redis-server,redis-server)

# A C compiler: the race detector needs one.
cc:
	@if command -v $${CC:-cc} >/dev/null; then exit 0; fi; \
	$(call install,a C compiler,gcc libc6-dev)

# The interpreters and Redis clients of workloads/adapters/. Tests of a language that is not there are left out, unless
# DOUBLEGRANT_REQUIRE_CLIENTS is set: then `test` installs it.
ADAPTERS := python3-redis python3-rq python3-tooz php-cli php-redis php-symfony-lock php-illuminate-cache \
	php-illuminate-redis ruby-redis node-redis gcc libc6-dev libhiredis-dev default-jdk-headless
adapters:
	@if dpkg -s $(ADAPTERS) >/dev/null 2>&1; then exit 0; fi; \
	$(call install,what adapters need,$(ADAPTERS))

clients: adapters # its name until 0.1.0

# A Chromium, in which tests open every kind of page. They are left out without one, unless DOUBLEGRANT_REQUIRE_BROWSER
# is set: then `test` installs it.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		if command -v $$name >/dev/null; then exit 0; fi; done; \
	$(call install,a browser,chromium)

# install (what, packages) where this is Debian and we are root; elsewhere say what to install.
define install
if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	echo "installing $(2)"; \
	apt-get install -y -qq --no-install-recommends $(2) >/dev/null 2>&1 || \
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2) >/dev/null; }; \
else \
	echo "$(1) is missing: install it, on Debian and Ubuntu with: sudo apt-get install $(2)" >&2; exit 1; \
fi
endef
