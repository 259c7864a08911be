// SPDX-License-Identifier: Apache-2.0

/// The suites of the hardware's C tests.

#ifndef HARDWARE_SUITES_H
#define HARDWARE_SUITES_H

#include "harness.h"

extern const struct suite flash_suite;
extern const struct suite device_suite;
extern const struct suite state_suite;
extern const struct suite link_suite;
extern const struct suite upgrade_suite;
extern const struct suite unit_suite;
extern const struct suite unit_power_suite;
extern const struct suite unit_log_suite;
extern const struct suite unit_courier_suite;
extern const struct suite unit_sealed_suite;
extern const struct suite unit_grant_suite;
extern const struct suite admission_suite;
extern const struct suite flood_suite;
extern const struct suite numbers_suite;
extern const struct suite link_bounds_suite;
extern const struct suite unit_bounds_suite;

#endif
