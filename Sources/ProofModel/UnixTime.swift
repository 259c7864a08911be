// SPDX-License-Identifier: Apache-2.0

// One type of time for all roles.
@_exported public import ProofBytes
