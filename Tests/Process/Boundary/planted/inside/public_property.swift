// SPDX-License-Identifier: Apache-2.0

// expect: property cannot be declared public because its type uses an internal type
internal import ProofCore

/// A leak.
public struct Leak {
  /// A leak.
  public var challenge: pfc_challenge
}
