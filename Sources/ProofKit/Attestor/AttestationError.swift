// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why the attestation service gave nothing.
///
/// An app that failed its attestation gets a token as every other app does, and cannot tell.
public struct AttestationError: ProofFailure {
  /// A cause. New ones may come in a minor version: a `switch` needs a `default`.
  public struct Reason: Sendable, Hashable, CustomStringConvertible {
    package let status: FetchStatus

    private init(_ status: FetchStatus) { self.status = status }

    fileprivate init(of status: FetchStatus) {
      self = status == .badKey ? .invalidArgument : Reason(status)
    }

    /// The service cannot be reached: no name resolution, no route, or a refused connection.
    public static let noNetwork = Reason(.noNetwork)
    /// The network is too slow or too unreliable.
    public static let poorNetwork = Reason(.poorNetwork)
    /// The peer's certificate or key is not the expected one. Nothing was sent to it.
    public static let untrustedServer = Reason(.mitmDetected)
    /// The answer is not one of the service's: it is down, stopping or overloaded.
    public static let serviceUnavailable = Reason(.noService)
    /// The text is no host, or the API takes no measurement.
    public static let invalidHost = Reason(.badURL)
    /// The account has no such API.
    public static let unknownHost = Reason(.unknownURL)
    /// The API needs no token.
    public static let hostNeedsNoToken = Reason(.unprotectedURL)
    /// The app failed the attestation, and asked for a string or a token of its own.
    public static let rejected = Reason(.rejected)
    /// The account has not enabled this.
    public static let notEnabled = Reason(.disabled)
    /// The account has no secure string of this name.
    public static let unknownString = Reason(.unknownKey)
    /// A name is too long or empty, or claims are no JSON object.
    public static let invalidArgument = Reason(.badPayload)
    /// The app has no key for messages: no token was fetched yet, or the account has none.
    public static let noMessageKey = Reason(.noMessageKey)
    /// The app could not be measured: ``AttestationError/measurement`` says why.
    public static let notMeasured = Reason(.internalError)
    /// The service refused the request: the versions or the set-up of app and service do not match.
    public static let serviceRefused = Reason(.success)
    /// The installation's key cannot be used now.
    public static let keyUnavailable = Reason(.keyUnavailable)
    /// The task was cancelled.
    public static let cancelled = Reason(.cancelled)

    /// Lower-case words, such as "no network".
    public var description: String {
      switch self {
      case .notMeasured: "not measured"
      case .serviceRefused: "service refused"
      default: status.description
      }
    }
  }

  /// The status of the fetch.
  package let status: FetchStatus
  package let fault: ServiceFault?
  /// The failure, in words for people.
  package let words: String
  /// The cause, for ``Reason/notMeasured``.
  public let measurement: ProofError?
  /// A short code for the user to tell support, if the account shows it. Only the service can read it.
  public let attestationCode: String?
  /// The reasons of a failed attestation, if the account shows them; empty otherwise.
  public let rejectionReasons: [String]

  package init(_ result: FetchResult) {
    status = result.status
    fault = result.fault
    words = result.reason
    measurement = result.measurement
    attestationCode = result.arc.isEmpty ? nil : result.arc
    rejectionReasons = AttestationError.list(result.rejectionReasons)
  }

  package init(_ status: FetchStatus, _ words: String = "", measurement: ProofError? = nil) {
    self.init(FetchResult(status, reason: words, measurement: measurement))
  }

  static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { part in String(part.drop { $0 == " " }) }
  }

  /// The cause.
  public var reason: Reason {
    guard status == .internalError || status == .notInitialized else { return Reason(of: status) }
    return measurement == nil ? .serviceRefused : .notMeasured
  }

  /// `SDK-` and a number, or the code of ``measurement``.
  public var code: String { measurement?.code ?? status.code }

  /// The party that can remove the cause.
  public var whoCanMend: Mender { measurement?.whoCanMend ?? status.whoCanMend }

  /// Whether the API may be called without a token: it needs none, or the service is down and the API
  /// decides.
  public var mayProceedWithoutToken: Bool {
    switch status {
    case .unprotectedURL, .unknownURL, .noService: true
    default: false
    }
  }

  /// Whether another try may succeed with no change to the app or the account.
  package var canHeal: Bool {
    switch status {
    case .noNetwork, .poorNetwork, .mitmDetected, .noService, .keyUnavailable: true
    default: if case .resourcesExhausted = measurement { true } else { false }
    }
  }

  /// The failure, the value and the next step. Never a secret.
  public var description: String {
    if let measurement { return "\(measurement)" }
    let codeForSupport = attestationCode.map { " (\($0))" } ?? ""
    let reasons = rejectionReasons.isEmpty ? "" : ": " + rejectionReasons.joined(separator: ", ")
    let words = words.isEmpty ? "" : ": \(words)"
    return "The attestation service gave nothing (\(reason))\(words)\(reasons)\(codeForSupport). "
      + status.advice
  }
}

extension FetchStatus {
  /// The next step, as a sentence.
  fileprivate var advice: String {
    switch self {
    case .success, .cancelled: "Call again."
    case .noNetwork, .poorNetwork: "Check the network, then try again."
    case .mitmDetected: "Use another network, or compare the pins with the service's certificate."
    case .noService: "Try again later."
    case .badURL: "Pass a host name or an https URL of the account."
    case .unknownURL: "Have the operator add the API, or call it without a token."
    case .unprotectedURL: "Call the API without a token."
    case .notInitialized: "Initialise first."
    case .rejected: "Have the operator look into the service's log."
    case .disabled: "Have the operator enable it."
    case .unknownKey: "Define the string."
    case .badKey, .badPayload: "Pass a value within the limits."
    case .internalError: "Compare the versions and the set-up of app and service."
    case .keyUnavailable: "Try again."
    case .noMessageKey: "Fetch a token first."
    }
  }
}
