# SPDX-License-Identifier: Apache-2.0
#
# Everything that is done with this repository, by name. `make help` lists it; `.ci/parts` has the parts of each suite.
#
# `make demo` and `make test` are all the set-up there is on Debian 12 with Swift: each target first installs, by name,
# what it needs (.ci/packages), or says what is missing. With the packages there, none needs the network.

PREFIX ?= /usr/local
DESTDIR ?=
DEMO ?=
HARDWARE ?=
PART ?=

.DEFAULT_GOAL := all
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

export MAKE

.PHONY: help parts setup all core programs demo demo-gate demo-scale firmware install uninstall sdk-key docs clean test check long fuzz bench

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

parts: ## List the parts of test, check, long, fuzz and bench, each with its command
	@.ci/play --list

# Build and use

setup: ## Install what building, testing and the demonstration need
	@.ci/setup swift base python

all: core ## Build the C core and the Swift package (the default)
	@.ci/setup swift base
	@swift build --quiet

core: ## Build the C libraries (core, key, probe), headers and .pc files below .build/core, without Swift
	@.ci/setup base
	@$(MAKE) -C CSources

# Optimised, because the demonstration and the pages tell times.
programs: ## Build the programs, optimised, in .build/release
	@.ci/setup swift base
	@for product in proof-demo proof-service proofctl proof-unlock proof-shop proof-gate proof-hardware proof-relay \
	  proof-child proof-tracer proof-elsewhere; do swift build --quiet -c release --product $$product || exit 1; done
	@$(CC) -std=c11 -D_DEFAULT_SOURCE -O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fPIC -shared \
	  -o .build/release/libDemoPreload.so Sources/proof-demo/Props/preload.c

port := CSources/ports/cortex-m3/proof-firmware
demo: programs $(filter firmware,$(HARDWARE)) ## Play the demonstration: DEMO='--slow --seed 7 --act 2', HARDWARE=firmware for the emulated lock
	@.build/release/proof-demo $(if $(HARDWARE),--act 1 --hardware $(port)) $(DEMO)

demo-gate: programs ## Play a gate beside nginx: an app, a bot, a person in Chromium; DEMO='--slow --json'
	@.ci/setup gatedemo
	@/usr/bin/python3 -B Tests/Process/Demo/gate/demo.py $(DEMO)

demo-scale: programs ## Play three nodes on a replicated PostgreSQL: failovers and a rolling upgrade under load; DEMO='--json'
	@.ci/setup cluster
	@swift build --quiet -c release --product proof-load
	@/usr/bin/python3 -B Tests/Process/Demo/scale/demo.py $(DEMO)

firmware: ## Build the verifier as firmware for Cortex-M, profiles full, large and symmetric, below .build/firmware
	@.ci/setup base firmware
	@CSources/ports/fetch-libsodium .build/foreign/libsodium
	@$(MAKE) -s -C CSources/ports/cortex-m3

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

docs: ## Build the reference site with its tutorials, print its address, and serve it until Ctrl-C
	@.ci/setup swift base
	@docs/site/build
	@docs/site/serve

clean: ## Remove what was built; what was downloaded (foreign libraries, PyPI packages) stays
	@find .build -mindepth 1 -maxdepth 1 ! -name foreign ! -name pypi -exec rm -rf {} + 2>/dev/null || true

# Test and measure: suites of .ci/parts. PART=NAME plays one part, PART='NAME NAME' several.

test: ## Test quickly: at every change
	@.ci/play test $(PART)

check: ## Check thoroughly: before a change is merged
	@.ci/play check $(PART)

long: ## Check for hours: before a release
	@.ci/play long $(PART)

fuzz: ## Fuzz every parser and the message loop: FUZZ_SECONDS=60 for the core, as much again for Swift
	@.ci/play fuzz $(PART)

bench: ## Measure everything beside its peers, into docs/results/DATE.md and DATE.html
	@.ci/play bench $(PART)

# A name of an earlier Makefile, or a part without its suite.
.DEFAULT:
	@echo 'make: there is no target $@; make help lists them, make parts the parts of test and check' >&2
	@exit 2
