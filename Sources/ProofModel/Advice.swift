/// What the app does next, after a verdict.
public enum Advice: Sendable, CaseIterable, CustomStringConvertible {
  /// Nothing: it is done.
  case done
  /// Go on and send commands.
  case sendCommands
  /// Ask for a new challenge and send the command again.
  case sendAgain
  /// Nobody can tell any more whether the command was done: look at what it should have moved, and
  /// let a person decide whether to send another.
  case lookFirst
  /// Measure again; if that changes nothing, ask for what a device match permits.
  case measureAgain
  /// Present the token for this hardware, then ask again.
  case presentToken
  /// Ask the backend for a token with wider rights.
  case askForWiderRights
  /// Ask the backend for a new token.
  case askForNewToken
  /// Ask the backend to free a slot with a floor order.
  case askForRoom
  /// Use a build of the hardware's mode.
  case useOtherBuild
  /// Update the hardware's firmware, or ask the backend for a token of the hardware's version.
  case updateHardware
  /// Disconnect, wait as many seconds as the answer's detail says, connect again.
  case reconnectLater
  /// Report a defect of this app or of the link.
  case reportDefect
  /// Tell the owner that the hardware needs service.
  case callService

  /// The advice as a sentence for a person.
  public var description: String {
    switch self {
    case .done: "Nothing more to do."
    case .sendCommands: "Send commands."
    case .sendAgain: "Ask for a new challenge and send the command again."
    case .lookFirst: "Look whether it was done: the hardware cannot tell any more."
    case .measureAgain: "Measure again, or ask for what a device match permits."
    case .presentToken: "Present the token for this hardware."
    case .askForWiderRights: "Ask the backend for wider rights."
    case .askForNewToken: "Ask the backend for a new token."
    case .askForRoom: "Ask the backend to free a slot."
    case .useOtherBuild: "Use a build of the hardware's mode."
    case .updateHardware:
      "The hardware is older than this app or its token. Update the hardware's firmware."
    case .reconnectLater: "Disconnect, wait, and connect again."
    case .reportDefect: "Report a defect."
    case .callService: "The hardware needs service."
    }
  }
}

/// What the app had sent, when a verdict came.
public enum Question: Sendable, CaseIterable {
  /// A measurement token.
  case token
  /// A command under a challenge.
  case command
  /// An order of the backend.
  case order
  /// What became of a command.
  case recall
}

extension Verdict {
  /// What the app does next.
  ///
  /// A verdict alone is a hint that anyone on the link can have made. What became of a recalled
  /// command is told by ``Fate/advice``: to a recall, no hint ever advises to send the command
  /// again, because it may have been done.
  ///
  /// - Parameter question: What the app had sent.
  /// - Returns: One piece of advice.
  public func advice(to question: Question) -> Advice {
    switch self {
    case .accepted, .acceptedDeviceOnly, .orderDone: .done
    case .held: .sendCommands
    case .notExecuted, .stale: question == .recall ? .lookFirst : .sendAgain
    case .integrityDiffers, .deviceDiffers: .measureAgain
    case .unknownInstance, .notForMe: .presentToken
    case .notPermitted: .askForWiderRights
    case .attemptsExhausted, .usesExhausted, .expired, .superseded, .revoked, .notSigned:
      .askForNewToken
    case .noRoom: .askForRoom
    case .wrongMode: .useOtherBuild
    case .tooNew: .updateHardware
    case .busy: .reconnectLater
    case .malformed: .reportDefect
    case .fault: .callService
    }
  }
}
