// SPDX-License-Identifier: Apache-2.0

/// The reason why the SDK did not answer a challenge.
public enum ChallengeError: Error, Sendable, Hashable {
  /// The gate's text is no challenge that this build knows.
  case malformed(reason: String)
  /// The challenge takes more work than the client's settings allow.
  case tooHard(level: UInt8, allowed: UInt8)
  /// The system has no memory for the work.
  case outOfMemory
  /// The challenge needs a person, and the client has no presenter.
  case presenterMissing
  /// The page ended without success.
  case page(PresenterError)
  /// The request's body can be read once, so the request cannot be sent again.
  case bodyNotRepeatable
  /// The gate has no challenge of this name.
  case unknownName(String)
  /// The gate refused the answer, or answered a named challenge in another way.
  case rejected(status: Int)
}

extension ChallengeError: CustomStringConvertible {
  /// The failure, its value and the next step.
  public var description: String {
    switch self {
    case .malformed(let reason):
      "The gate's challenge cannot be read: \(reason). Compare the versions of SDK and gate."
    case .tooHard(let level, let allowed):
      "The gate's challenge has level \(level); this client solves up to \(allowed). Have the operator lower it, "
        + "or raise the client's limit."
    case .outOfMemory: "The system has no memory for a challenge. Free memory and try again."
    case .presenterMissing:
      "The gate asks for a person. Give the client a presenter, such as BrowserPresenter."
    case .page(let error): "The gate's page ended without success: \(error)"
    case .bodyNotRepeatable:
      "The gate asks for the request again, but its body can be read once. Send the request with a new body."
    case .unknownName(let name):
      "The gate has no challenge \(name). Use a name that the operator has set up."
    case .rejected(let status):
      "The gate did not accept the answer to its challenge (status \(status)). Try again later."
    }
  }

  /// The number of an error of a challenge SDK: 3 unknown or used id, 6 rejected, 7 presenter missing, 8 cancelled,
  /// 9 internal.
  package var attestationCode: Int {
    switch self {
    case .malformed, .unknownName: 3
    case .tooHard, .rejected: 6
    case .presenterMissing: 7
    case .page(.cancelled): 8
    case .page(.network): 5
    case .page(.verificationFailed): 6
    case .page, .outOfMemory, .bodyNotRepeatable: 9
    }
  }
}

/// The reason why a page gave nothing. ``code`` is the text that captcha SDKs use.
public enum PresenterError: String, Error, Sendable, Hashable, CaseIterable {
  /// The answers were wrong, and no try is left.
  case verificationFailed = "1001"
  /// The system failed: the page did not load in time, or the gate is not there.
  case system = "1002"
  /// The page was asked for with values that it does not take.
  case parameter = "1003"
  /// The person closed the page, or the app cancelled it.
  case cancelled = "1005"
  /// The page cannot be shown here.
  case cannotBeShown = "8001"
  /// The page gave something that is no clearance.
  case abnormalData = "8002"
  /// An error within page or presenter.
  case `internal` = "8003"
  /// The page has no connection to the gate.
  case network = "8004"

  /// The code as text, as a page gives it.
  public var code: String { rawValue }

  /// Reads a code of a page; nil for another text.
  public init?(code: String) { self.init(rawValue: code) }
}

extension PresenterError: CustomStringConvertible {
  /// The failure and the next step.
  public var description: String {
    switch self {
    case .verificationFailed: "The answers were wrong. Try again later."
    case .system: "The page did not answer in time. Try again later."
    case .parameter: "The page refused its parameters. Check the page of the client's settings."
    case .cancelled: "The page was closed."
    case .cannotBeShown: "The page cannot be shown here. Use a presenter that can show it."
    case .abnormalData: "The page gave something that is no clearance. Check the custom page."
    case .internal: "The page or its presenter failed. Look into the log."
    case .network: "The page could not reach the gate. Check the network and try again."
    }
  }
}
