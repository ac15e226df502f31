# Everything a person or CI does here. `make demo` and `make test` need Go; they fetch the rest (see `redis`, `cc`).

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
MISSPELL    ?= github.com/golangci/misspell/cmd/misspell@v0.7.0
BIN         := bin/doublegrant
RESULTS     ?= results

.PHONY: all build demo explore test test-raced test-others test-long test-long-zoo test-long-searches test-long-loads test-deep verify-checkers verify-planted mutate lint bench bench-load image harness-image redis cc clients clean help

all: build

help:
	@echo "make demo    a tour on real Redis, under two minutes; exit code 0 if all came out as documented"
	@echo "make explore every interleaving of the whole catalogue; exit code 0 if all came out as documented"
	@echo "make test    every package's tests, real Redis included, the race detector where goroutines of ours meet"
	@echo "make test-long  what make test leaves out: the race detector for workloads and suites, the whole catalogue in the explorer, every algorithm of the zoo under load, the figures of failovers beside an observer; about 7 minutes"
	@echo "make test-deep  every fault on every target that it accepts and every kind of failover, beside an observer, and the largest searches; about half an hour"
	@echo "make image   a Docker image of this machine's redis-server, for --on docker where there is no registry"
	@echo "make harness-image  a Docker image of doublegrant itself, for machines without Redis, macOS, Windows, Kubernetes"
	@echo "make verify-checkers  a million small histories for each checker and every tiny one, against its rule, porcupine and brute force; and a million of correct simulated servers. HISTORIES=100000 for a tenth"
	@echo "make verify-planted  explorer and load on algorithms with planted defects, and on right but odd ones, about 5 minutes"
	@echo "make mutate  small changes of the checkers and the explorer, one at a time, and which of them no test notices; hours for all, see MUTATE"
	@echo "make lint    gofmt, go vet, staticcheck, spelling"
	@echo "make bench   benchmarks of the checkers, against porcupine too, and of the explorer"
	@echo "make bench-load  the harness's load beside that of redis-benchmark and of a bare go-redis loop, and clients in Python and JavaScript beside bare loops"
	@echo "make build   $(BIN)"
	@echo "make clean   remove $(BIN) and $(RESULTS)"

build:
	$(GO) build -o $(BIN) ./harness/cmd/doublegrant

demo: redis build
	./$(BIN) demo --results $(RESULTS)

explore: redis build
	./$(BIN) explore --all --results $(RESULTS)

# Packages whose goroutines meet run with the race detector, the others without it; of the explorer those tests do in which several
# goroutines act, and all in test-deep. Most tests wait for Redis or for time, so lanes run side by side, with two or three packages
# at a time in each: that keeps two cores busy, and more would make a Redis that has to wait for a core look like a broken one. Packages
# that take longest come first. Tests of containers take the image of `image`; without Docker they are skipped, unless CI or
# DOUBLEGRANT_REQUIRE_DOCKER is set.
RACED   := ./nemesis ./harness/cluster/... ./harness ./harness/history
FIRST   := ./workloads ./harness/cli ./harness/explore ./harness/granttest ./harness/results
OTHERS   = $(FIRST) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACED) $(FIRST))")
SIDES   ?= 3 # lanes side by side; 1 takes longer and leaves timing more room
TESTING := -vet=off -timeout 20m -parallel 4

test: redis cc clients
	@$(MAKE) --no-print-directory image || echo "no image: tests of containers take redis:7, or are skipped"
	@$(MAKE) --no-print-directory -j $(SIDES) test-raced test-others

test-raced:
	$(GO) test -race $(TESTING) -p 2 $(RACED)
	$(GO) test -race $(TESTING) -run 'Workers|Panics|Thread|Subscriptions|Stop|GoesOnFromACheckpoint' ./harness/explore

test-others:
	$(GO) test $(TESTING) -p 3 $(OTHERS)

# What `test` leaves out. The figures of failovers are compared to within 50 ms of what an observer sees, so they come last, alone.
test-long: redis cc
	@$(MAKE) --no-print-directory -j $(SIDES) test-long-zoo test-long-searches test-long-loads
	$(GO) test -count 1 -v $(TESTING) -run EveryFigureOfAFailover ./harness/analysis -long

test-long-zoo:
	$(GO) test -count 1 $(TESTING) -run 'Zoo|OfPlanted|WhatTheExplorerSays' ./workloads -long

test-long-searches:
	$(GO) test -count 1 $(TESTING) -run 'EveryDeclaredFlaw|NoVariantSurvives|HeldReplica|ScriptFlushes|ClocksApart' ./harness/results -long
	$(GO) test -count 1 $(TESTING) -run 'LosesNo|LoseNothing|MemoryShows|WhoeverDoesThem|FromCheckpoints' ./harness/explore -long

test-long-loads:
	$(GO) test -race $(TESTING) -run 'Alone|Quorum|Master|Redisson|YourLock|Crash|Late' ./workloads
	$(GO) test -race $(TESTING) ./harness/suite
	$(GO) test -count 1 $(TESTING) -run 'RightOnes|WrongOnes|LinksNoContainers' ./harness/granttest -long
	$(GO) test -count 1 $(TESTING) -run 'SavedSearch|WorkersCome|FleetComes|LastMoment|MinReplicas|AtAllAddresses|RestOfItsTime|StaticImage' ./harness/cli -long -trials 3
	$(GO) test -count 1 $(TESTING) ./harness/workqueue/jetstream -long

# `test` and `test-long` have a part of these.
test-deep: redis cc
	$(GO) test -p 1 -count 1 -timeout 60m -v -run 'AnObserverSees|EveryFigureOfAFailover|EveryDeclaredFlaw|ClocksApart' ./harness/plan ./harness/results ./harness/analysis -deep
	$(GO) test -race -count 1 -timeout 60m -parallel 4 ./harness/explore -long

# The tests of the checkers make new histories each time; a failure prints the seed that repeats it, smallest history first.
# -deep enumerates the larger spaces of tiny histories as well, some millions. Histories of simulated servers are long: a million of them
# takes most of the time.
HISTORIES ?= 1000000

verify-checkers:
	$(GO) test -count 1 -timeout 180m -v -run 'CheckersKeepTheirRules|EveryTinyHistory|SimulatedServers' ./checkers -rapid.checks=$(HISTORIES) -rapid.seed=0 -deep

# Every planted algorithm (workloads/PLANTED.md) in the explorer, and under load for 6 seconds, four side by side.
verify-planted: redis
	$(GO) test -count 1 -timeout 20m -v -run Planted ./workloads -deep

# Changes of one comparison, condition, sum or return at a time; exit code 1 if no test notices one that mutants.txt of the
# package does not list. Some 1,600 mutants in checkers and 1,200 in explore, one or two a second: for a part of them,
# make mutate MUTATE='-file ^mutex' or MUTATE='-every 10'.
MUTATE ?=

mutate: redis
	$(GO) run ./harness/cmd/mutate $(MUTATE) ./checkers -- -rapid.checks=300 -rapid.shrinktime=1ms
	$(GO) run ./harness/cmd/mutate -skip PruningLosesNoVerdict $(MUTATE) ./harness/explore
	$(GO) run ./harness/cmd/mutate $(MUTATE) ./harness/interleave

image: redis build
	./$(BIN) doctor --on docker --build-image

# The image's program is static, so that it needs no library of this machine, and without tables for debuggers, 13 MiB of them.
harness-image: redis
	CGO_ENABLED=0 $(GO) build -ldflags='-s -w' -o bin/static/doublegrant ./harness/cmd/doublegrant
	./bin/static/doublegrant doctor --build-harness-image

# The spelling check passes over a typo that a test needs.
lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt would change: $$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(MISSPELL) -error -i nmae harness workloads nemesis checkers lua reports .github Makefile README.md

# BenchmarkScale takes some minutes: porcupine is given 30 s for each history.
bench:
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./checkers ./harness/explore

bench-load: redis
	$(GO) test -run '^$$' -bench 'Benchmark(Load|Links)$$' -benchtime 1x ./harness/results
	$(GO) test -run '^$$' -bench 'BenchmarkLoad$$' -benchtime 1x ./workloads/clients

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

# The interpreters and Redis clients of workloads/clients/. Tests of a language that is not there are skipped, unless
# DOUBLEGRANT_REQUIRE_CLIENTS is set.
CLIENTS := python3-redis python3-rq python3-tooz php-cli php-redis php-symfony-lock php-illuminate-cache php-illuminate-redis ruby-redis node-redis \
	gcc libc6-dev libhiredis-dev default-jdk-headless
clients:
	@if [ -z "$$DOUBLEGRANT_REQUIRE_CLIENTS" ] || dpkg -s $(CLIENTS) >/dev/null 2>&1; then exit 0; fi; \
	$(call install,a client in another language,$(CLIENTS))

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
