// SPDX-License-Identifier: Apache-2.0

/// The version of everything that is built from this tree: libraries, their .pc files, the SDK, every program.

#ifndef PROOFKIT_VERSION_H
#define PROOFKIT_VERSION_H

/// The only place that has the number. Three decimal numbers.
#define PROOFKIT_VERSION "0.1.0"

#endif
