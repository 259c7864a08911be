import Console
import ProofJOSE

/// Forcing pins is confirmed by a person who types YES, or by what a script writes to standard input.
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
