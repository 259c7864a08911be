// SPDX-License-Identifier: Apache-2.0

/// The secret that makes this installation itself: 32 random bytes in the app's own storage.
///
/// It is a device source beside others: copied to another device it does not help, because machine, processor and root
/// file system differ there. It is read from its file at each measurement and never leaves the probe but as a digest.

#ifndef PFP_STORAGE_H
#define PFP_STORAGE_H

#include "probe_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFP_SECRET_BYTES 32
#define PFP_SECRET_NAME "device-secret"  ///< The file's name in the storage folder

/// Makes the secret if it is not there yet: atomically (it has all its bytes or does not exist, whatever happens and
/// however many try at once), mode 0600, durable when this returns. Never replaces one. The folder must exist, belong
/// to this user and be closed to others (PFP_E_EXPOSED); PFP_E_MISSING without it, PFP_E_TYPE if it is no folder,
/// PFP_E_UNREADABLE if it cannot be written, PFP_E_RESOURCE without randomness.
PFP_MUST_USE int pfp_storage_prepare(const char *folder);

#ifdef __cplusplus
}
#endif

#endif
