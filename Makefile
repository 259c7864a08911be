# Everything that is done with this repository, by name. `make help` lists it.
#
# `make demo` and `make test` are all the set-up there is on Debian 12 with Swift: each target first installs, by name,
# what it needs (.ci/packages), or says what is missing. With the packages there, none needs the network.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := all
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

export MAKE

.PHONY: help setup all core demo test check check-foreign fuzz bench docs install uninstall sdk-key clean \
  test-core test-swift test-house check-vectors check-format check-symbols check-stack check-constant-time \
  check-secrets check-sanitizers check-coverage check-boundary check-mutants check-mutants-swift check-readme \
  check-demo check-fuzz check-bench test-probe test-probe-long attack test-hardware attack-hardware \
  attack-hardware-long check-mutants-hardware

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Build and use

setup: ## Install what building, testing and the demonstration need
	@.ci/setup swift base python

all: core ## Build the C core and the Swift package (the default)
	@.ci/setup swift base
	@swift build --quiet

core: ## Build the C core, its header folder and proofcore.pc below .build/core, without Swift
	@.ci/setup base
	@$(MAKE) -C CSources

demo: ## Play the whole story: measure, attest, issue, open, tamper, refuse
	@.ci/setup swift base
	@swift run --quiet proof-demo

install: ## Install the C core: PREFIX=/usr/local DESTDIR= ; needs no Swift
	@.ci/setup base
	@$(MAKE) -C CSources install PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'

uninstall: ## Remove what install put there; the same PREFIX and DESTDIR
	@$(MAKE) -C CSources uninstall PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)'

sdk-key: ## Generate a new measurement proof key for this SDK build
	@CSources/ProofKey/generate

docs: ## Write the reference documentation to .build/docs
	@.ci/setup swift base
	@.ci/docs

clean: ## Remove what was built; the downloaded foreign libraries stay
	@find .build -mindepth 1 -maxdepth 1 ! -name foreign -exec rm -rf {} + 2>/dev/null || true

# Test: quick, at every change

test: ## Everything quick: the C core, the Swift package, the second implementation, the hardware, the house
	@.ci/setup swift base python
	@.ci/suite test-core test-swift check-vectors test-hardware attack-hardware test-house

test-core: ## Test the C core by its own C program
	@.ci/setup base
	@Tests/ProofCoreTests/run.sh

test-swift: ## Test the Swift package
	@.ci/setup swift base
	@.ci/test-swift

test-probe: ## Test the probe: files, process, stability of a live app (root)
	@.ci/setup base python
	@Tests/ProofProbeTests/run.sh

test-probe-long: ## The same at length: 1,000 starts, 100,000 warm proofs, 1,000,000 leaves
	@.ci/setup base python
	@Tests/ProofProbeTests/run.sh --long

attack: ## Attack a live app with real tools, judged by a real verifier (root)
	@.ci/setup base python attack
	@Tests/Attack/run.py

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
	@.ci/setup swift base python check
	@Tests/House/run.sh

# Check: thorough, before a release

check: ## Format, symbols, stack, constant time, secrets, sanitizers, coverage, mutants, pages
	@.ci/setup swift base python check
	@.ci/suite check-format check-symbols check-stack check-constant-time check-secrets check-sanitizers \
	  check-coverage check-boundary check-mutants check-mutants-swift check-mutants-hardware check-readme check-demo

check-format: ## Format and lint of Swift, C, shell and Python; no path of anybody's machine
	@.ci/setup swift check
	@.ci/format

check-symbols: ## What the core's objects ask of the outside world: no heap, no operating system
	@.ci/setup swift base check
	@.ci/symbols

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
	@.ci/setup swift base
	@.ci/sanitizers

check-coverage: ## Lines and branches the tests reach, with floors
	@.ci/setup swift base
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

check-mutants-hardware: ## The same with the hardware's links, flash and process
	@.ci/setup base python
	@Tests/ProofHardwareTests/mutants.py

check-demo: ## The demonstration plays to its end
	@.ci/counted $(MAKE) demo

check-readme: ## Run every command and compile every code sample of README.md and docs
	@.ci/setup swift base python
	@.ci/readme

check-foreign: ## The core on 32-bit Arm and on big-endian s390x, byte for byte as here (qemu)
	@.ci/setup base foreign
	@.ci/foreign

fuzz: ## Fuzz every parser and the message loop: FUZZ_SECONDS=60, shared among them
	@.ci/setup swift base
	@Tests/Fuzz/run.sh $(FUZZ_SECONDS)

check-fuzz: ## A short round of every fuzzer, from the committed corpus
	@$(MAKE) fuzz FUZZ_SECONDS=90

bench: ## Measure: proofs, verification, measurement, transport
	@.ci/setup swift base
	@swift run --quiet -c release proof-bench

check-bench: ## Assert what is deterministic in the measures: bytes, packets, allocations
	@.ci/setup swift base
	@.ci/counted swift run --quiet -c release proof-bench --check
