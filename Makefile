# Everything a person or CI does here. `make demo` and `make test` need Go; they fetch the rest (see `redis`, `cc`).

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
BIN         := bin/doublegrant
RESULTS     ?= results

.PHONY: all build demo explore test verify-checkers lint bench bench-load image redis cc clean help

all: build

help:
	@echo "make demo    a tour on real Redis, about 90 s; exit code 0 if all came out as documented"
	@echo "make explore every interleaving of the whole catalogue; exit code 0 if all came out as documented"
	@echo "make test    every test, real Redis included, with the race detector"
	@echo "make image   a Docker image of this machine's redis-server, for --on docker where there is no registry"
	@echo "make verify-checkers  a million small histories for each checker and every tiny one, against its rule, porcupine and brute force, about 6 minutes on two idle cores"
	@echo "make lint    gofmt, go vet, staticcheck"
	@echo "make bench   benchmarks of the checkers, against porcupine too, and of the explorer"
	@echo "make bench-load  the harness's load beside that of redis-benchmark and of a bare go-redis loop"
	@echo "make build   $(BIN)"
	@echo "make clean   remove $(BIN) and $(RESULTS)"

build:
	$(GO) build -o $(BIN) ./harness/cmd/doublegrant

demo: redis build
	./$(BIN) demo --results $(RESULTS)

explore: redis build
	./$(BIN) explore --all --results $(RESULTS)

# One package at a time: loads and searches would take the two cores from each other. The tests of the whole catalogue run
# without the race detector, which makes them several times slower. Tests of containers take the image of `image`; without
# Docker they are skipped, unless CI or DOUBLEGRANT_REQUIRE_DOCKER is set.
test: redis cc
	@$(MAKE) --no-print-directory image || echo "no image: tests of containers take redis:7, or are skipped"
	$(GO) test -race -p 1 -timeout 10m ./...
	$(GO) test -timeout 10m -run 'EveryDeclaredFlaw|NoVariantSurvives|HeldReplica|FastClock|ScriptFlushes|SmallestCounterexamples' ./harness/suite

# The tests of the checkers make new histories each time; a failure prints the seed that repeats it, smallest history first.
# -deep enumerates the larger spaces of tiny histories as well, some millions.
HISTORIES ?= 1000000

verify-checkers:
	$(GO) test -count 1 -timeout 60m -v -run 'CheckersKeepTheirRules|EveryTinyHistory' ./checkers -rapid.checks=$(HISTORIES) -rapid.seed=0 -deep

image: redis build
	./$(BIN) doctor --on docker --build-image

lint:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "gofmt would change: $$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# BenchmarkScale takes some minutes: porcupine is given 30 s for each history.
bench:
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m ./checkers ./harness/explore

bench-load: redis
	$(GO) test -run '^$$' -bench 'Benchmark(Load|Links)$$' -benchtime 1x ./harness/suite

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
