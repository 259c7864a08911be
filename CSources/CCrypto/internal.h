// SPDX-License-Identifier: Apache-2.0

#ifndef CCRYPTO_INTERNAL_H
#define CCRYPTO_INTERNAL_H

#include <openssl/err.h>
#include <openssl/opensslv.h>

#include "CCrypto.h"

_Static_assert(OPENSSL_VERSION_MAJOR >= 3, "the interface of OpenSSL 3");

/// Every function of this library that can fail begins with the first and ends with the second.
static inline void pfj_errors_mark(void) { (void)ERR_set_mark(); }
static inline void pfj_errors_drop(void) { (void)ERR_pop_to_mark(); }

#endif
