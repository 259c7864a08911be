// SPDX-License-Identifier: Apache-2.0

// expect: cannot be used in an '@inlinable' function
internal import ProofCore

/// A leak.
@inlinable
public func leak() -> Int { MemoryLayout<pfc_token>.size }
