public import ProofModel

/// The reason why a call failed, in the ways that an app can act on.
public enum LinkError: Error, Sendable, Hashable {
  /// App, environment or device differs from the measurement: measure again, or ask for a command
  /// class that a device match permits.
  case measureAgain
  /// The hardware refuses the token or the order, so the app needs the backend. The verdict gives
  /// the reason.
  case askBackend(Verdict)
  /// The hardware is older than the token, the order or the command. Update the hardware's
  /// firmware, or ask the backend for a token of the hardware's version.
  case hardwareTooOld
  /// The hardware ends this link, as a rate limit: connect again after so many seconds.
  case wait(seconds: Int)
  /// The link is lost. If the command may be done, its outcome is not known yet.
  case linkLost(commandMayBeDone: Bool)
  /// No link could be opened, because nothing is at the hardware's address: the transport's reason.
  /// The command was not done.
  case nothingThere(reason: String)
  /// The deadline passed. The link is closed.
  case deadlinePassed(commandMayBeDone: Bool)
  /// The task was cancelled. The link is closed.
  case cancelled(commandMayBeDone: Bool)
  /// An earlier command that was left open was done after all, or its outcome can no longer be
  /// found out. This command was not sent.
  case earlierCommand(Fate)
  /// The memory could not be stored, so the command was not sent.
  case notRemembered(reason: String)
}

extension LinkError {
  /// Whether the command that the call was about, or an earlier one that it had begun to ask about,
  /// may be done without the app knowing: ask ``HardwareConnection/recall(within:)``.
  ///
  /// An earlier command may be open after every other error, too; see ``LinkMemory/openCommand``.
  public var commandMayBeDone: Bool {
    switch self {
    case .linkLost(let maybe), .deadlinePassed(let maybe), .cancelled(let maybe): maybe
    case .measureAgain, .askBackend, .hardwareTooOld, .wait, .nothingThere, .earlierCommand,
      .notRemembered:
      false
    }
  }
}

extension LinkError: CustomStringConvertible {
  /// The failure and the next step, as text.
  public var description: String {
    switch self {
    case .measureAgain:
      "The app or its device is not as measured. Measure again, or ask for what a device match "
        + "permits."
    case .askBackend(let verdict):
      "The hardware answered \"\(verdict)\". \(verdict.advice(to: .command))"
    case .hardwareTooOld:
      "The hardware answered \"too new\". \(Advice.updateHardware)"
    case .wait(let seconds):
      "The hardware is busy. Connect again after \(seconds) seconds."
    case .linkLost(let maybe):
      "No link could be kept open\(Self.end(maybe)) Check that the hardware has power and is near, "
        + "then try again."
    case .nothingThere(let reason):
      "Nothing is at the hardware's address (\(reason)); the command was not done. Check the address, "
        + "and that the hardware runs."
    case .deadlinePassed(let maybe): "The deadline passed\(Self.end(maybe))"
    case .cancelled(let maybe): "It was cancelled\(Self.end(maybe))"
    case .earlierCommand(.tooOldToTell):
      "Nobody can tell whether an earlier command was done. Look before you send this one."
    case .earlierCommand:
      "An earlier command was done after all. Look before you send this one."
    case .notRemembered(let reason):
      "The command was not sent, because it could not be remembered: \(reason)."
    }
  }

  private static func end(_ commandMayBeDone: Bool) -> String {
    commandMayBeDone
      ? ", and the command may have been done: ask the hardware before you send it again."
      : "; the command was not done."
  }
}
