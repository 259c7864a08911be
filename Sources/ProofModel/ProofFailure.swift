// SPDX-License-Identifier: Apache-2.0

/// The party that can remove the cause of an error. Apps switch over this; cases are never added.
public enum Mender: Sendable, Hashable {
  /// Call again now: the cause was momentary.
  case retry
  /// Call again after this time: a rate limit or a busy peer.
  case wait(Duration)
  /// The person in front of the app: come closer, switch the radio on, look at the device.
  case user
  /// A new measurement over the network. Offline, show the error's description.
  case online
  /// The operator of the account, the backend or the hardware.
  case `operator`
  /// The developer of the app: a wrong argument, file or entitlement.
  case developer
}

/// The shape that the errors of this library share.
///
/// `description` is one sentence each for what failed, with what value, and what to do next.
public protocol ProofFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The cause as `ORIGIN-NUMBER`, such as `LOCK-18`. A number is never reused.
  var code: String { get }
  /// The party that can remove the cause.
  var whoCanMend: Mender { get }
}

extension ProofError: ProofFailure {
  /// `PROOF-` and the number of the case.
  public var code: String { "PROOF-\(terms.number)" }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { terms.mender }

  /// Whether the fault is in an answer that came over the link, not on this side.
  package var isOfAnswer: Bool {
    switch self {
    case .differs, .unauthenticated, .answerToAnother, .answerToRecall: true
    default: false
    }
  }

  private var terms: (number: Int, mender: Mender) {
    switch self {
    case .wrongLength: (1, .developer)
    case .allZeros: (2, .developer)
    case .outOfRange: (3, .developer)
    case .notHexadecimal: (4, .developer)
    case .configForeign: (5, .developer)
    case .configDamaged: (6, .online)
    case .configTooNew: (7, .developer)
    case .configMalformed: (8, .operator)
    case .configForOtherKey: (9, .online)
    case .configForOtherMode: (10, .developer)
    case .evidenceRepeated: (11, .developer)
    case .evidenceOutOfOrder: (12, .developer)
    case .evidenceNotAskedFor: (13, .developer)
    case .evidenceMissing: (14, .developer)
    case .evidenceWithheld: (15, .online)
    case .evidenceUnavailable: (16, .developer)
    case .resourcesExhausted: (17, .retry)
    case .measurementEnded: (18, .developer)
    case .malformed: (19, .operator)
    case .tooNew: (20, .developer)
    case .notForThisHardware: (21, .online)
    case .notSigned: (22, .operator)
    case .wrongMode: (23, .developer)
    case .unusablePublicKey: (24, .operator)
    case .unusableGateKey: (25, .operator)
    case .differs: (26, .online)
    case .unauthenticated: (27, .retry)
    case .answerToAnother: (28, .retry)
    case .answerToRecall: (29, .developer)
    case .storageFailed: (30, .retry)
    case .storageDamaged: (31, .operator)
    case .randomFailed: (32, .operator)
    }
  }
}
