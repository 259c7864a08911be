// SPDX-License-Identifier: Apache-2.0

/// A resolver of names that can fall silent, as one does whose servers are out of reach.
///
/// This module's `getaddrinfo` stands before the C library's in each program that links it, and passes everything on.

#ifndef SILENT_RESOLVER_H
#define SILENT_RESOLVER_H

/// From now on no name resolves in this process: each caller waits.
void silent_resolver_begin(void);

#endif
