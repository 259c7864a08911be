// SPDX-License-Identifier: Apache-2.0

/// The reason why an attack could not be tried.
struct AttackFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
