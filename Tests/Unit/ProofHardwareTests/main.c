// SPDX-License-Identifier: Apache-2.0

/// proof-hardware-tests [--long] [--filter TEXT]

#include "hardware_suites.h"

static const struct suite *const suites[] = {&device_suite, &state_suite, &flash_suite, &link_suite, &unit_suite,
                                             &unit_power_suite, &unit_log_suite, &unit_courier_suite,
                                             &unit_sealed_suite, &unit_grant_suite, &upgrade_suite,
                                             &admission_suite, &flood_suite, &numbers_suite,
                                             &link_bounds_suite, &unit_bounds_suite};

int main(int argc, char **argv) {
  return harness_main(argc, argv, "proof-hardware-tests", suites, sizeof suites / sizeof suites[0]);
}
