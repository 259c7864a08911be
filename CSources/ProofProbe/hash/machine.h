// SPDX-License-Identifier: Apache-2.0

/// Instructions that this processor can run under this operating system.

#ifndef PFP_HASH_MACHINE_H
#define PFP_HASH_MACHINE_H

#include <stdbool.h>

/// AVX2: four lanes.
bool pfp_machine_has_x4(void);
/// AVX-512F: eight lanes.
bool pfp_machine_has_x8(void);

#endif
