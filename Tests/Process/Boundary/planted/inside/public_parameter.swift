// SPDX-License-Identifier: Apache-2.0

// expect: initializer cannot be declared public because its parameter uses an internal type
internal import ProofCore

extension Challenge {
  /// A leak.
  public init(leak: pfc_challenge) { fatalError() }
}
