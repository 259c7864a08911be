// SPDX-License-Identifier: Apache-2.0

/// Calls that a measurement must not make. Counted at the platform's functions: the linker puts these before the real
/// ones (--wrap).

#include "ProofProbe.h"
#include "process/process.h"
#include "process_made.h"
#include "process_place.h"
#include "process_suites.h"

static unsigned looks;

// The names that --wrap asks for are the linker's.
int __real_pfp_mappings_read(struct pfp_mappings *mappings, const struct pfp_process *process);
int __wrap_pfp_mappings_read(struct pfp_mappings *mappings, const struct pfp_process *process);
int __wrap_pfp_mappings_read(struct pfp_mappings *mappings, const struct pfp_process *process) {
  looks++;
  return made_mappings != NULL ? made_copy_mappings(mappings) : __real_pfp_mappings_read(mappings, process);
}

int __real_pfp_objects_read(struct pfp_objects *objects);
int __wrap_pfp_objects_read(struct pfp_objects *objects);
int __wrap_pfp_objects_read(struct pfp_objects *objects) {
  looks++;
  return made_objects != NULL ? made_copy_objects(objects) : __real_pfp_objects_read(objects);
}

/// As PROBE.md says; the probe has a list of its own.
static bool tells_of_a_view(const struct pfc_source *source) {
  if (source->class_ == PFC_CLASS_APP) return source->number == PFP_APP_CODE;
  return source->class_ == PFC_CLASS_ENVIRONMENT && source->number >= PFP_ENVIRONMENT_OBJECTS &&
         source->number <= PFP_ENVIRONMENT_LINKS;
}

/// How often it looked at mappings and loaded objects.
static unsigned looks_of(struct pfp_probe *probe, const struct pfc_config *draft) {
  static struct listing listing;
  listing.size = listing.absent = 0;
  looks = 0;
  CHECK_NUMBER(pfp_probe_collect(probe, draft, listing_add, &listing), PFP_OK);
  return looks;
}

static void no_look_without_a_source(void) {
  REQUIRE(place_begin());
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
    const struct pfc_config all = place_draft(policy, 1);
    struct pfc_config one = all, others = all;
    struct pfp_probe *probe = place_probe();
    REQUIRE(probe != NULL);
    one.source_count = 1;
    others.source_count = 0;
    for (unsigned i = 0; i < all.source_count; i++) {
      test_case("policy %u, source %u/%u", policy, all.sources[i].class_, all.sources[i].number);
      one.sources[0] = all.sources[i];
      if (tells_of_a_view(&all.sources[i])) {
        CHECK(looks_of(probe, &one) != 0);
      } else {
        CHECK_COUNT(looks_of(probe, &one), 0);
        others.sources[others.source_count++] = all.sources[i];
      }
    }
    test_case("policy %u, all the others together", policy);
    CHECK_COUNT(all.source_count - others.source_count, 5);
    CHECK_COUNT(looks_of(probe, &others), 0);
    pfp_probe_free(probe);
  }
  place_finish();
}

static const struct test tests[] = {
    TEST("mappings and objects are looked at if a source tells of them, and not otherwise", no_look_without_a_source),
};

const struct suite process_cost_suite = SUITE("cost", tests);
