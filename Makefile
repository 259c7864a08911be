# Everything that is done with this repository, by name. `make help` lists it.
#
# `make demo` and `make test` are all the set-up there is on Debian 12 with Swift: each target first installs, by name,
# what it needs (.ci/packages), or says what is missing. With the packages there, none needs the network.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
APP_STARTS ?= 3
DEMO ?=
MUTANT_SEED ?= 1
MUTANT_COUNT ?= 40

.DEFAULT_GOAL := all
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

export MAKE

.PHONY: help setup all core demo demo-programs install uninstall sdk-key docs clean test test-core test-swift \
  test-probe test-probe-long test-store test-service test-changes test-door check-kill bench-service test-backend \
  test-runbooks test-page test-gate attack test-hardware attack-hardware attack-hardware-long check-link check-vectors \
  test-house check check-long check-format check-symbols check-stack check-constant-time check-secrets \
  check-sanitizers check-coverage check-boundary check-mutants check-mutants-swift check-faults check-faults-long \
  check-mutants-probe check-jose check-mutants-hardware test-consumers check-demo check-docs check-readme \
  check-foreign firmware check-firmware check-firmware-long check-apps check-apps-long demo-firmware fuzz fuzz-core \
  fuzz-jose fuzz-swift check-fuzz bench bench-probe check-bench check-models check-mutants-random

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Build and use

setup: ## Install what building, testing and the demonstration need
	@.ci/setup swift base python

all: core ## Build the C core and the Swift package (the default)
	@.ci/setup swift base
	@swift build --quiet

core: ## Build the C libraries (core, key, probe), headers and .pc files below .build/core, without Swift
	@.ci/setup base
	@$(MAKE) -C CSources

demo: demo-programs ## Play two acts between real processes, a lock and an API (DEMO='--slow --seed 7 --act 2')
	@.build/release/proof-demo $(DEMO)

# Optimised, because the story tells times.
demo-programs: ## Build the programs of the demonstration, in .build/release
	@.ci/setup swift base
	@for product in proof-demo proof-service proofctl proof-unlock proof-shop proof-hardware proof-relay proof-child \
	  proof-tracer proof-elsewhere DemoPreload; do swift build --quiet -c release --product $$product || exit 1; done

install: ## Install the C libraries, headers and .pc files: PREFIX=/usr/local DESTDIR= ; needs no Swift
	@.ci/setup base
	@$(MAKE) -C CSources install PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'

uninstall: ## Remove what install put there; the same PREFIX and DESTDIR
	@$(MAKE) -C CSources uninstall PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'

sdk-key: ## Generate a production key for this SDK build: SDK_KEY=FILE, made if it is not there
	@test -n '$(SDK_KEY)' || { \
	  echo 'sdk-key: name the file of the key, which the service needs too: make sdk-key SDK_KEY=mpk.bin' >&2; \
	  exit 2; }
	@CSources/ProofKey/generate --mode production --key-file '$(SDK_KEY)'

docs: ## Write the reference documentation and its tutorials to .build/docs/site
	@.ci/setup swift base
	@.ci/docs

clean: ## Remove what was built; what was downloaded (foreign libraries, PyPI packages) stays
	@find .build -mindepth 1 -maxdepth 1 ! -name foreign ! -name pypi -exec rm -rf {} + 2>/dev/null || true

# Test: quick, at every change

test: ## Everything quick: C core, Swift package, probe, second implementation, hardware, attacker, store, house
	@.ci/setup swift base python check probe
	@.ci/suite test-core test-swift test-probe check-vectors test-hardware attack-hardware test-store test-house

test-core: ## Test the C core by its own C program
	@.ci/setup base
	@Tests/ProofCoreTests/run.sh

test-swift: ## Test the Swift package
	@.ci/setup swift base python
	@.ci/test-swift

test-probe: ## Test the probe: files, process, root file systems, stability of a live app
	@.ci/setup swift base python probe
	@Tests/ProofProbeTests/run.sh

test-probe-long: ## The same at length: 1,000 starts, 100,000 warm proofs, 1,000,000 leaves
	@.ci/setup swift base python probe
	@Tests/ProofProbeTests/run.sh --long

test-store: ## Kill a process before every system call with which it saves its measurement
	@.ci/setup swift base python
	@Tests/Store/run.sh

test-service: ## Test proof-service as a process: TLS, certificates, signals, options, log, measures, memory
	@.ci/setup swift base python service
	@Tests/Service/run.sh server_test

test-changes: ## Keys, secrets and APIs changed while proof-service runs: its next token is by the new ones
	@.ci/setup swift base python service
	@Tests/Service/run.sh changes

test-door: ## Hostile clients at the C door of proof-service, under sanitizers
	@.ci/setup base python service
	@Tests/Service/door/hostile.py

check-kill: ## kill -9 of proof-service under load, 100 times: nothing accepted twice, nothing lost
	@.ci/setup swift base python
	@Tests/Service/run.sh kill 100

bench-service: ## Measure attestations a second, plain and over TLS; an hour of 10,000 devices
	@.ci/setup swift base python service
	@Tests/Service/run.sh load --hour

test-backend: ## Play the token fetch and every verb of proofctl against real processes, with PyJWT and jwcrypto
	@.ci/setup swift base python backend
	@Tests/Backend/run.sh

test-runbooks: ## Play the commands of docs/RUNBOOKS.md, as they stand, against real processes
	@.ci/setup swift base python service
	@Tests/Runbooks/run.sh

test-page: ## Test the page's solver in node, and the check of verdicts in Python, against the vectors
	@.ci/setup python page
	@/usr/bin/python3 Tests/Page/run.py

# Not part of check: on a machine with systemd Debian starts the proxies when it installs them.
test-gate: ## Test proof-gate beside nginx, Caddy and HAProxy, over TLS, with the lines of docs/GATE.md
	@.ci/setup swift base python gate
	@Tests/Gate/run.sh

test-consumers: ## Build and run an app and a firmware outside the package; what ProofKit links; static release
	@.ci/setup swift base python consumers
	@Tests/Consumers/run.sh

attack: ## Attack a live app with real tools, judged by a real verifier (root)
	@.ci/setup base python attack
	@Tests/Attack/run.py

check-models: ## Check the models of the hand-over between threads (spin), with broken variants it must refuse
	@.ci/setup base models
	@Tests/Models/run.sh

check-link: ## Play 20,000 sessions over a bad link, on a virtual clock
	@.ci/setup swift base python
	@PROOFLINK_SESSIONS=20000 .ci/test-swift --filter ProofLinkTests

test-hardware: ## Test the hardware: links, flash, power cuts, the process (no Swift)
	@.ci/setup base python
	@Tests/ProofHardwareTests/run.sh

attack-hardware: ## Attack the hardware process over its link: a program written from the pages alone
	@.ci/setup base python
	@$(MAKE) -s -C CSources hardware
	@/usr/bin/python3 Tests/Attacker/run.py

attack-hardware-long: ## The same with 1,000,000 garbage packets
	@.ci/setup base python
	@$(MAKE) -s -C CSources hardware
	@/usr/bin/python3 Tests/Attacker/run.py --rounds 1000000

check-vectors: ## Compare with the second implementation and with published vectors, both ways
	@.ci/setup swift base python
	@.ci/vectors

test-house: ## Test the house itself: set-up, checks, installation
	@.ci/setup swift base python check probe
	@Tests/House/run.sh

# Check: thorough, before a release

check: ## Format, symbols, stack, constant time, secrets, sanitizers, coverage, mutants, faults, attacks, pages
	@.ci/setup swift base python check probe attack jose service backend consumers foreign firmware apps models page gate
	@.ci/pypi attack jose backend firmware apps
	@.ci/suite --lanes 2 check-format check-sanitizers check-faults check-symbols check-stack check-constant-time \
	  check-secrets check-coverage check-boundary check-mutants attack check-jose test-service test-changes \
	  test-door test-backend test-runbooks test-page test-gate check-link test-consumers check-docs check-readme \
	  check-demo check-foreign check-firmware check-apps check-models check-fuzz

check-long: ## Checks too long for every change: more mutants, kills, faults, starts; hours
	@.ci/setup swift base python check probe attack service backend jose firmware apps
	@.ci/pypi backend jose firmware apps
	@.ci/suite check-mutants-swift check-mutants-probe check-mutants-hardware check-mutants-random check-kill \
	  test-probe-long attack-hardware-long check-faults-long check-firmware-long check-apps-long

check-format: ## Format and lint of Swift, C, shell and Python; no path of anybody's machine
	@.ci/setup swift check
	@.ci/format

check-symbols: ## Symbols that the core's objects import: no heap, no operating system; no circle of C files
	@.ci/setup swift base check
	@bash -c '. .ci/parts.sh; part symbols .ci/symbols; part circles .ci/circles; closing'

check-stack: ## Stack of each function and of the deepest call chain; no recursion
	@.ci/setup swift base
	@.ci/stack

check-constant-time: ## No branch and no address depends on a secret (valgrind), with planted mutants
	@.ci/setup swift base check
	@Tests/ConstantTime/run.sh

check-secrets: ## Secrets are wiped, not logged, and stand nowhere in binary or memory
	@.ci/setup swift base check
	@swift build --quiet -c release
	@Tests/Secrets/run.sh

check-sanitizers: ## The tests again under address, undefined behaviour and thread sanitizers
	@.ci/setup swift base python
	@.ci/sanitizers

check-coverage: ## Lines and branches the tests reach, with floors
	@.ci/setup swift base python
	@Tests/Coverage/run.sh

check-boundary: ## No C type leaves the Swift library: a client from outside, and planted leaks
	@.ci/setup swift base
	@.ci/counted Tests/Boundary/check

check-mutants: ## Take out the core's defences one by one: a test must notice each time
	@.ci/setup base
	@Tests/Mutants/run.sh

check-mutants-swift: ## The same with the Swift library's
	@.ci/setup swift base python
	@/usr/bin/python3 Tests/ProofModelTests/Mutants/mutants.py

check-mutants-random: ## Forty mutants, drawn from a seed over all modules: the tests must notice 95 of 100; hours
	@.ci/setup swift base python check probe service backend jose firmware
	@.ci/pypi backend jose
	@.ci/firmware-sodium .build/foreign/libsodium
	@Tests/Mutants/random/run.py --seed $(MUTANT_SEED) --count $(MUTANT_COUNT)

check-faults: ## Skip each instruction of the verdict path: nothing that is refused may come through (x86-64)
	@.ci/setup base python check
	@Tests/Faults/run.py

check-faults-long: ## The same for tokens too, with each adjacent pair, at -O2 and -Os: half an hour
	@.ci/setup base python check
	@Tests/Faults/run.py --long

check-mutants-probe: ## The same with the probe's: the attack each is there for must then pass (root)
	@.ci/setup base python attack
	@Tests/ProofProbeTests/mutants.sh

check-jose: ## Signed and sealed tokens against PyJWT and jwcrypto, both ways; the C shim without memory
	@.ci/setup swift base jose
	@Tests/JOSE/run.sh

check-mutants-hardware: ## The same with the hardware's links, flash and process
	@.ci/setup base python
	@Tests/ProofHardwareTests/mutants.py

check-demo: demo-programs ## The demonstration from outside: story, exit status, what it leaves, two terminals
	@.ci/setup python
	@Tests/Demo/run.py

check-docs: ## The reference documentation is built without a warning, and has every public symbol
	@.ci/setup swift base
	@.ci/counted .ci/docs

check-readme: ## Run every command and compile every code sample of README.md, docs and the reference
	@.ci/setup swift base python
	@.ci/readme

check-apps: ## The probe inside CPython, node, Redis, Java and GTK: one IM, one DM, no alarm; APP_STARTS=3 of each
	@.ci/setup swift base python apps
	@.ci/pypi apps
	@Tests/Apps/run.sh --starts $(APP_STARTS)

check-apps-long: ## The same with 50 starts of each
	@.ci/setup swift base python apps
	@.ci/pypi apps
	@Tests/Apps/run.sh --starts 50

check-foreign: ## The core on 32-bit Arm and on big-endian s390x, byte for byte as here (qemu)
	@.ci/setup base foreign
	@.ci/foreign

fuzz: ## Fuzz every parser and the message loop: FUZZ_SECONDS=60 for the core, as much again for Swift
	@.ci/suite fuzz-core fuzz-jose fuzz-swift

fuzz-core: ## The core's parsers and its message loop (libFuzzer), FUZZ_SECONDS shared among them
	@.ci/setup swift base
	@Tests/Fuzz/run.sh $(FUZZ_SECONDS)

fuzz-jose: ## JSON, base64, keys, claims, signed and sealed tokens (libFuzzer)
	@.ci/setup swift base
	@Tests/JOSE/fuzz/run.sh $$(($(FUZZ_SECONDS) / 3 + 1))

fuzz-swift: ## Messages, bodies, management, rows, queries, configurations (mutated, seeds printed)
	@.ci/setup swift base python
	@PROOFKIT_FUZZ_ROUNDS=$$(($(FUZZ_SECONDS) * 20)) .ci/test-swift --filter FuzzTests

firmware: ## Build the verifier as firmware for Cortex-M, profiles full and symmetric, below .build/firmware
	@.ci/setup base firmware
	@.ci/firmware-sodium .build/foreign/libsodium
	@$(MAKE) -s -C CSources/ports/cortex-m3

check-firmware: ## The firmware on its emulated board: demonstration, power cuts, vectors, figures, skipped instructions
	@.ci/setup base python firmware
	@.ci/pypi firmware
	@Tests/Firmware/run.sh

check-firmware-long: ## The same with 200 power cuts, all of the core's tests, and pairs of instructions skipped
	@.ci/setup base python firmware
	@.ci/pypi firmware
	@Tests/Firmware/run.sh --long

demo-firmware: demo-programs firmware ## Play the lock's act with the firmware in the lock's place (DEMO='--slow --seed 7')
	@.build/release/proof-demo --act 1 --hardware CSources/ports/cortex-m3/proof-firmware $(DEMO)

check-fuzz: ## A short round of every fuzzer, from the committed corpus
	@$(MAKE) fuzz FUZZ_SECONDS=90

bench: ## Measure everything beside what one would take instead, and write docs/results/DATE.md: under ten minutes
	@.ci/setup swift base python bench figures
	@for product in proof-service proof-load proof-bench; do \
	  swift build --quiet -c release --product $$product || exit 1; done
	@"$$(swift build -c release --show-bin-path)/proof-bench" --report

bench-probe: ## Measure files and proofs further than bench: cold and warm with much code, up to 4 GiB, 100,000 files
	@.ci/setup base python
	@for part in warm curves; do Benchmarks/probe-files/bench.py $$part || exit 1; done
	@Benchmarks/probe-files/bench.py report

check-bench: ## Assert what is deterministic in the measures: bytes, packets, allocations, instructions, system calls
	@.ci/setup swift base python figures
	@.ci/counted swift run --quiet -c release proof-bench --check
