// SPDX-License-Identifier: Apache-2.0

/// The inside of storage.h.

#ifndef PFP_SECRET_H
#define PFP_SECRET_H

#include <stdint.h>

#include "storage.h"

/// Reads the secret. PFP_E_MISSING, PFP_E_EXPOSED, PFP_E_UNREADABLE or PFP_E_RESOURCE, as `pfp_storage_prepare`.
PFP_MUST_USE int pfp_secret_read(uint8_t secret[PFP_SECRET_BYTES], const char *folder);

#endif
