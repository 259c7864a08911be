/// The outcome of a recalled command, told by the hardware that could open the token.
///
/// ``Recall/fate(of:)`` authenticates the values it returns; they need no further check.
public enum Fate: Sendable, Hashable {
  /// It was accepted, and is done at most once.
  case accepted
  /// It was accepted with reduced rights, and is done at most once.
  case acceptedDeviceOnly
  /// It was not accepted and never will be.
  case notExecuted
  /// It was refused; the verdict is the command's own, which came late.
  case refused(Verdict)
  /// It was too long ago: the hardware no longer knows whether it was done.
  case tooOldToTell

  init(_ verdict: Verdict) {
    self =
      switch verdict {
      case .accepted: .accepted
      case .acceptedDeviceOnly: .acceptedDeviceOnly
      case .notExecuted: .notExecuted
      case .stale: .tooOldToTell
      default: .refused(verdict)
      }
  }

  /// The app's next step.
  public var advice: Advice {
    switch self {
    case .accepted, .acceptedDeviceOnly: .done
    case .notExecuted: .sendAgain
    case .refused(let verdict): verdict.advice(to: .command)
    case .tooOldToTell: .lookFirst
    }
  }
}
