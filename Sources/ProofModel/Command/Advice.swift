// SPDX-License-Identifier: Apache-2.0

/// The app's next step after a verdict.
public enum Advice: Sendable, CaseIterable, CustomStringConvertible {
  /// Nothing more to do.
  case done
  /// Send commands now.
  case sendCommands
  /// Ask for a new challenge and send the command again.
  case sendAgain
  /// Check at the device whether the command was done, and let a person decide whether to send
  /// another. The hardware can no longer tell.
  case lookFirst
  /// Measure again. If that changes nothing, ask for a command class that a device match permits.
  case measureAgain
  /// Present the token for this hardware, then ask again.
  case presentToken
  /// Ask the backend for a token with wider rights.
  case askForWiderRights
  /// Ask the backend for a new token.
  case askForNewToken
  /// Ask the owner for a new delegation.
  case askForNewDelegation
  /// Ask the backend to free a slot with a floor order.
  case askForRoom
  /// Use a build of the hardware's mode.
  case useOtherBuild
  /// Update the hardware's firmware, or ask the backend for a token of the hardware's version.
  case updateHardware
  /// Disconnect, wait as many seconds as the answer's detail gives, and connect again.
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
    case .askForNewDelegation: "Ask the owner for a new delegation."
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

/// The kind of message that a verdict answers.
public enum Question: Sendable, CaseIterable {
  /// A measurement token.
  case token
  /// A command under a challenge.
  case command
  /// An order of the backend.
  case order
  /// A recall, which asks for the outcome of an earlier command.
  case recall
  /// A delegation of an owner.
  case delegation
}

extension Verdict {
  /// Whether only the owner can help, with another delegation.
  private var endsDelegation: Bool {
    switch self {
    case .deviceDiffers, .notPermitted, .expired, .superseded: true
    default: false
    }
  }

  /// The app's next step.
  ///
  /// A verdict without a receipt is a hint that anyone on the link can forge. The outcome of a
  /// recalled command comes from ``Recall/outcome(of:)`` instead. A hint that answers a recall never
  /// advises sending the command again, because the command may have been done.
  ///
  /// - Parameter question: The kind of message that the app sent.
  /// - Returns: One piece of advice.
  public func advice(to question: Question) -> Advice {
    if question == .delegation, endsDelegation { return .askForNewDelegation }
    return switch self {
    case .accepted, .acceptedDeviceOnly, .acceptedCopy, .acceptedDeviceOnlyCopy, .orderDone: .done
    case .held, .ready: .sendCommands
    case .notExecuted, .stale: question == .recall ? .lookFirst : .sendAgain
    case .integrityDiffers, .deviceDiffers: .measureAgain
    case .unknownInstance, .notForMe: .presentToken
    case .notPermitted: .askForWiderRights
    case .attemptsExhausted, .usesExhausted, .expired, .superseded, .revoked, .notSigned, .copied:
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
