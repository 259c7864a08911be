public import ProofModel

/// Why a command was not done, in the four ways that an app can act on.
public enum LinkError: Error, Sendable, Hashable {
  /// App, environment or device is not as measured: measure again, or ask for what a device match
  /// permits.
  case measureAgain
  /// The token does not serve: the backend has to help. The verdict says with what.
  case askBackend(Verdict)
  /// The hardware wants no more of this link: connect again after so many seconds.
  case wait(seconds: Int)
  /// The link does not carry. If the command may be done, nobody could tell what became of it: ask
  /// the person before sending it again.
  case linkLost(commandMayBeDone: Bool)
}

extension LinkError: CustomStringConvertible {
  /// What went wrong, and what to do next.
  public var description: String {
    switch self {
    case .measureAgain:
      "The app or its device is not as measured. Measure again, or ask for what a device match "
        + "permits."
    case .askBackend(let verdict):
      "The hardware answered \"\(verdict)\". \(verdict.advice(to: .command))"
    case .wait(let seconds):
      "The hardware is busy. Connect again after \(seconds) seconds."
    case .linkLost(commandMayBeDone: false):
      "The link was lost; the command was not done. Come closer and try again."
    case .linkLost(commandMayBeDone: true):
      "The link was lost, and the command may have been done. Look before you send it again."
    }
  }
}
