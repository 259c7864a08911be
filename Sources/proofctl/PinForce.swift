// SPDX-License-Identifier: Apache-2.0

import Console
import ProofJOSE

/// Asks for the confirmation of forced pins: a person types YES, or a script writes it to standard
/// input.
enum PinForce {
  static func run(_ invocation: Invocation) throws -> Answer {
    let account = try AccountAccess(invocation)
    Terminal.complain(
      "Running apps will drop their connections and apply the present pins at once. A wrong pin "
        + "locks them out until they are updated.\nType YES to go on:")
    let confirmation = readLine() ?? ""
    return Answer(try account.perform("pin/force", ["confirm": .string(confirmation)]))
  }
}
