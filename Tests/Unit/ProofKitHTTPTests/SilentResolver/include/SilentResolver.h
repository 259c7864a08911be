// SPDX-License-Identifier: Apache-2.0

/// Functions that stand before those of libraries in each program that links this module, and pass everything on.
///
/// `getaddrinfo` is a resolver of names that can fall silent, as one does whose servers are out of reach.
/// `curl_easy_setopt` can note what a thread asks of libcurl.

#ifndef SILENT_RESOLVER_H
#define SILENT_RESOLVER_H

/// From now on no name resolves in this process: each caller waits.
void silent_resolver_begin(void);

/// From now on the options that this thread gives to libcurl are noted.
void recorded_options_begin(void);

/// Ends that. One line for each option, `number=value`, until this thread begins again.
const char *recorded_options_end(void);

#endif
