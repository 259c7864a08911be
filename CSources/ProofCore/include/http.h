// SPDX-License-Identifier: Apache-2.0

/// The HTTP request that a compact token covers, and its digest.
///
///     digest = SHA-256(method LF scheme LF authority LF target LF body digest LF SHA-256(authorization))
///
/// Both sides make it from what is really sent. A request has one canonical spelling; another is refused rather than
/// mended, so that app, proxy and gate cannot read one request differently.

#ifndef PFC_HTTP_H
#define PFC_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A request. Texts have no terminator; the pointers are the caller's.
struct pfc_http {
  const char *method;  ///< 1 to PFC_HTTP_METHOD_MAX token characters, upper and lower case kept
  size_t method_size;
  const char *scheme;  ///< `http` or `https`
  size_t scheme_size;
  const char *authority;  ///< Host in lower case, `:port` unless it is the scheme's own; at most PFC_HTTP_AUTHORITY_MAX
  size_t authority_size;
  const char *target;  ///< Path and query as sent, beginning with `/`; or `*` alone
  size_t target_size;
  uint8_t body_digest[PFC_DIGEST_BYTES];  ///< SHA-256 of the body's coded bytes; without a body, of no bytes
  const char *authorization;              ///< The header's value; NULL or 0 bytes without one
  size_t authorization_size;
};

/// Makes the digest. PFC_E_MALFORMED, and zeros, for another spelling: a control character, blank or byte over 0x7e in
/// method, authority or target; `#` or `\` in the target; an upper-case letter, `@` or the scheme's own port in the
/// authority; an LF, CR or NUL in the authorization.
PFC_MUST_USE int pfc_http_digest(uint8_t digest[PFC_DIGEST_BYTES], const struct pfc_http *request);

#ifdef __cplusplus
}
#endif

#endif
