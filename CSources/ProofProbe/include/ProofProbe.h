// SPDX-License-Identifier: Apache-2.0

/// ProofProbe: evidence of a live Linux app and its device, for ProofCore to fold. In the order of the data.

#ifndef PROOFPROBE_H
#define PROOFPROBE_H

// g++ -Wshadow counts a function named as its structure (`pfp_probe_failure`) as hiding a constructor.
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#include "probe_result.h"
#include "hash.h"
#include "files.h"
#include "sources.h"
#include "storage.h"
#include "probe.h"
#include "diagnosis.h"

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif
