// SPDX-License-Identifier: Apache-2.0

/// The hardware's decision. The numbers are on the wire and never reused.
public enum Verdict: UInt8, Sendable, CaseIterable {
  /// Integrity matched; the command is done.
  case accepted = 1
  /// The device matched; the command is done, with reduced rights.
  case acceptedDeviceOnly = 2
  /// The token is held: its instance may send commands.
  case held = 3
  /// The order is carried out, or was already.
  case orderDone = 4
  /// To a recall: that command was not accepted and never will be.
  case notExecuted = 5
  /// Integrity matched and the command is done; another copy of the app has sent commands.
  case acceptedCopy = 6
  /// The device matched and the command is done; another copy of the app has sent commands.
  case acceptedDeviceOnlyCopy = 7
  /// The upcoming token is a candidate on this link: an integrity command commits it.
  case ready = 8
  /// App or environment differs from the measurement.
  case integrityDiffers = 16
  /// The device differs from the measurement, or a stranger sent the command.
  case deviceDiffers = 17
  /// The challenge is not live: used, replaced, timed out, or of another link.
  case stale = 18
  /// The token does not permit this class of command for this kind of match.
  case notPermitted = 19
  /// The token's attempts are exhausted.
  case attemptsExhausted = 20
  /// The token's uses are exhausted.
  case usesExhausted = 21
  /// No token is held for this instance.
  case unknownInstance = 22
  /// Another copy of the app has sent commands, and this class is refused to copies.
  case copied = 23
  /// The token or order is for other hardware.
  case notForMe = 32
  /// The token or order is not signed by an issuer this hardware knows.
  case notSigned = 33
  /// The token's time is over.
  case expired = 34
  /// A newer generation was seen, or a floor was raised above the token.
  case superseded = 35
  /// The token was revoked.
  case revoked = 36
  /// A development token at production hardware or the reverse, or a literal token where that is
  /// not allowed.
  case wrongMode = 37
  /// All slots serve other instances.
  case noRoom = 38
  /// The message is of a later version than the hardware: update its firmware.
  case tooNew = 39
  /// The message does not parse.
  case malformed = 48
  /// Too many refusals on this link: a rate limit.
  case busy = 49
  /// The hardware could not store or draw random bytes; nothing was done.
  case fault = 50
}

extension Verdict {
  /// Whether the hardware accepted the command, token or order.
  public var isSuccess: Bool {
    rawValue < Verdict.integrityDiffers.rawValue && self != .notExecuted
  }

  /// Whether the hardware tells that another copy of the app has sent commands.
  public var tellsCopy: Bool {
    self == .acceptedCopy || self == .acceptedDeviceOnlyCopy || self == .copied
  }
}

extension Verdict: CustomStringConvertible {
  /// The verdict in a few words, as `docs/SPEC.md` names it.
  public var description: String {
    switch self {
    case .accepted: "accepted"
    case .acceptedDeviceOnly: "accepted, device only"
    case .held: "held"
    case .orderDone: "order done"
    case .notExecuted: "not executed"
    case .acceptedCopy: "accepted, copy seen"
    case .acceptedDeviceOnlyCopy: "accepted, device only, copy seen"
    case .ready: "ready"
    case .integrityDiffers: "integrity differs"
    case .deviceDiffers: "device differs"
    case .stale: "stale"
    case .notPermitted: "not permitted"
    case .attemptsExhausted: "attempts exhausted"
    case .usesExhausted: "uses exhausted"
    case .unknownInstance: "unknown instance"
    case .copied: "copied"
    case .notForMe: "not for me"
    case .notSigned: "not signed"
    case .expired: "expired"
    case .superseded: "superseded"
    case .revoked: "revoked"
    case .wrongMode: "wrong mode"
    case .noRoom: "no room"
    case .tooNew: "too new"
    case .malformed: "malformed"
    case .busy: "busy"
    case .fault: "fault"
    }
  }
}
