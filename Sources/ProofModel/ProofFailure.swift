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
  /// Names a cause. For an enumeration of causes it is the error's own type.
  associatedtype Reason: Sendable, Hashable = Self
  /// The cause.
  var reason: Reason { get }
  /// The cause as `ORIGIN-NUMBER`, such as `LINK-4`, or with a detail, as `LOCK-18.2`. A number is
  /// never reused.
  var code: String { get }
  /// The party that can remove the cause.
  var whoCanMend: Mender { get }
  /// The text under which app, backend and hardware log this case; nil if it never left the app.
  var reference: Reference? { get }
}

extension ProofFailure {
  /// Nil: the case never left the app.
  public var reference: Reference? { nil }
}

extension ProofFailure where Reason == Self {
  /// The error itself.
  public var reason: Self { self }
}

/// Finds one case in the logs of all parties. It holds no instance id.
public struct Reference: Sendable, Hashable, CustomStringConvertible {
  /// The text, such as `dbe6593c-1042`.
  public let description: String

  /// Takes the text that another party logged.
  package init(_ text: String) { description = text }
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
