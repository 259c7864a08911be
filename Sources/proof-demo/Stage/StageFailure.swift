// SPDX-License-Identifier: Apache-2.0

/// The reason why the story cannot go on: a failure of the machine, not an outcome.
struct StageFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
