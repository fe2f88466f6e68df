# Shortcuts for meson, ninja and the scripts in scripts/.
#
#   make              the release build: build/weft
#   make run          builds, starts the demo server (PORT=8787) and prints what to try; with the key of a vendor, on its model
#   make test         installs what is missing, builds with ASan and UBSan, runs the tests (minutes)
#   make test-unit    the unit tests alone, in seconds; `make test-unit T=name` runs those whose name contains `name`
#   make quick        between two commits: builds what changed and tests the folders of src that it can reach (BASE=REVISION)
#   make check-ci     what CI runs after `make test`: release build, clang, more faults, fuzzing, edits, real clients, kills
#   make check-long   TSan, valgrind, every fault point, long sweeps and fuzzing (an hour)
#   make bench        benchmarks, each next to its floor
#   make conformance  writes docs/conformance.md from the `covers:` marks of the tests
#   make docs         the pages as a static site: build-docs/html/index.html
#   make coverage     test coverage: build-coverage/coverage.html
#   make format       clang-format over the tree
#   make install      installs the release build (PREFIX=/usr/local, DESTDIR=)
#   make deb          builds the Debian packages: build-deb/*.deb
#   make clean        removes all build folders

PREFIX ?= /usr/local
PORT   ?= 8787
MESON  := meson
BENCHES := agent fiber base json upp llm providers http dialects envelope convert store log run session threads step doors

.PHONY: all run test test-unit quick check-ci check-long bench conformance docs coverage format install deb clean help
.DEFAULT_GOAL := all

all:
	@scripts/setup
	@scripts/build build --buildtype=release
run: # builds only what it runs: a newcomer waits for it
	@scripts/setup
	@scripts/build build --buildtype=release -- weft weft-reaper
	@PORT='$(PORT)' scripts/run
test:
	@scripts/setup build cache
	@scripts/check test
test-unit:
	@scripts/setup build cache
	@scripts/check unit
	@build-asan/tests/unit $(T)
quick:
	@scripts/setup build cache
	@scripts/quick $(BASE)
check-ci:
	@scripts/setup build cache clang node python browser valgrind
	@scripts/check ci
check-long:
	@scripts/setup build cache clang valgrind deb lintian
	@scripts/check long
bench: all
	@for b in $(BENCHES); do build/bench/bench_$$b || exit 1; done
	@if command -v valgrind >/dev/null; then bench/instructions build/bench; else echo 'instructions: needs valgrind'; fi
	@bench/peers/compare build/bench
	@bench/server build
	@bench/routes build
conformance:
	@scripts/conformance
docs:
	@scripts/setup python
	@scripts/docs
coverage:
	@scripts/setup build cache coverage
	@scripts/build build-coverage --buildtype=debug -Db_coverage=true
	@$(MESON) test -C build-coverage --no-rebuild --quiet --suite test
	@gcovr --root . --filter src/ build-coverage --print-summary --html-details build-coverage/coverage.html
format:
	@scripts/setup format
	@find src include tests bench -name '*.[ch]' -exec clang-format -i {} +
install: all
	@scripts/install '$(PREFIX)' '$(DESTDIR)'
deb:
	@scripts/setup build deb
	@scripts/deb
clean:
	@rm -rf build build-*
help:
	@sed -n 's/^#   //p' Makefile
