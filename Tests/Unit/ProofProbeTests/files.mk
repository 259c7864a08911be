# SPDX-License-Identifier: Apache-2.0
#
# Tests and benchmark of hashing and files.
#
#   make -f files.mk            quick tests
#   make -f files.mk long       all of them
#   make -f files.mk sanitized  quick tests under sanitizers: `sanitized-address` (and undefined behaviour), then
#                               `sanitized-thread`
#
# HARNESS is the folder of the core tests' harness.

here := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
root := $(abspath $(here)/../../..)
probe := $(root)/CSources/ProofProbe
BUILD ?= $(root)/.build/probe-files
HARNESS ?= $(root)/Tests/Unit/ProofCoreTests
CC := clang
CFLAGS ?= -O2 -g

strict := -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
  -Wmissing-prototypes -Wcast-qual -Wundef -Wvla -Werror
includes := -I$(probe)/include -I$(probe) -I$(root)/CSources/ProofCore/include -I$(HARNESS) \
  -I$(root)/Benchmarks/probe-files

folders := base hash system context jobs files
# The secret needs the core's wiping, which its test stands in for.
secret := $(probe)/system/storage.c
sources := $(filter-out %/storage.c,$(wildcard $(folders:%=$(probe)/%/*.c)))
headers := $(wildcard $(probe)/*/*.h $(here)/*.h)
tests := hash_test names_test known_test bundle_test files_bad_test files_cost_test files_moving_test \
  files_warm_test files_attack_test files_trust_test files_again_test files_page_test system_test keep_test map_test \
  files_edges_test files_turns_test files_singles_test files_given_back_test files_looks_test storage_test run_test \
  page tree files_faults files_main
test_sources := $(tests:%=$(here)/%.c) $(HARNESS)/harness.c

# The platform functions that files_faults.c stands before.
wrapped := pfp_read pfp_read_at pfp_open_file pfp_open_folder pfp_map_begin pfp_map_pays pfp_pages pfp_keep_clock \
  pfp_lease_begin pfp_mounts_watch pfp_identify pfp_identify_name pfp_unmoved pfp_open_below pfp_read_link \
  pfp_listing_next pfp_pages_free
wrap := $(wrapped:%=-Wl,--wrap=%)
# Functions of the C library that tests of single calls stand before.
library := openat read pread fstatfs sync_file_range mmap malloc free getrandom fchmod write fsync renameat2
library_wrap := $(library:%=-Wl,--wrap=%)

# The hand-over between threads: the same sources with smaller numbers, and pthread as schedule.c has it.
handover_tests := handover_test schedule tree files_faults
handover_sources := $(handover_tests:%=$(here)/%.c) $(HARNESS)/harness.c
small := -DPFP_LONG_FROM=131072u -DPFP_WINDOW_LEAVES=1u -DPFP_WINDOWS_AHEAD=2u -DPFP_CONTENT_LEAVES_AHEAD=2
scheduled := pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait pthread_cond_timedwait pthread_cond_broadcast \
  pthread_cond_signal pthread_join pfp_thread_start

.PHONY: test long handover handover-long sanitized sanitized-address sanitized-thread
test: $(BUILD)/probe-files-tests
	$< --scratch $(BUILD)/scratch

long: $(BUILD)/probe-files-tests
	$< --scratch $(BUILD)/scratch --long

handover: $(BUILD)/handover-tests
	$< --scratch $(BUILD)/scratch-handover

handover-long: $(BUILD)/handover-tests
	$< --scratch $(BUILD)/scratch-handover --long

sanitized: sanitized-address sanitized-thread

# SIGBUS is the tests' own business.
sanitized-address: $(BUILD)/probe-files-tests-address
	@ASAN_OPTIONS=handle_sigbus=0 $< --scratch $(BUILD)/scratch-address

sanitized-thread: $(BUILD)/probe-files-tests-thread
	@TSAN_OPTIONS=die_after_fork=0:handle_sigbus=0 $< --scratch $(BUILD)/scratch-thread

compile = @mkdir -p $(@D) && $(CC) $(strict) $(CFLAGS) $(1) $(includes) -o $@ $(filter %.c,$^) $(wrap) -lsodium -lpthread

$(BUILD)/probe-files-tests: $(sources) $(secret) $(test_sources) $(headers)
	$(call compile,$(library_wrap))
$(BUILD)/probe-files-tests-address: $(sources) $(secret) $(test_sources) $(headers)
	$(call compile,-fsanitize=address$(comma)undefined -fno-sanitize-recover=all -fuse-ld=lld $(library_wrap))
$(BUILD)/probe-files-tests-thread: $(sources) $(secret) $(test_sources) $(headers)
	$(call compile,-fsanitize=thread $(library_wrap))
# A clang that comes with Swift wants libdispatch for this one.
$(BUILD)/probe-files-tests-thread: CC := gcc

handover_wrap := $(scheduled:%=-Wl,--wrap=%)
$(BUILD)/handover-tests: $(sources) $(handover_sources) $(headers)
	$(call compile,$(small) $(handover_wrap))

comma := ,
