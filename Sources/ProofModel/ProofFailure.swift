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

extension ProofError {
  /// Whether the fault is in an answer that came over the link, not on this side.
  package var isOfAnswer: Bool {
    switch self {
    case .differs, .unauthenticated, .answerToAnother, .answerToRecall: true
    default: false
    }
  }
}
