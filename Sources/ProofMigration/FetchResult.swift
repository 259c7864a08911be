// SPDX-License-Identifier: Apache-2.0

public import ProofApp
package import ProofKit

extension FetchCalls {
  /// The result of a fetch.
  public struct FetchResult: Sendable, Hashable {
    /// The status of the fetch.
    public let status: FetchStatus
    /// The token, or the custom token; empty if there is none.
    public let token: String
    /// The secure string, if the call asked for one and it exists.
    public let secureString: String?
    /// The attestation response code, for the support of an account; empty if there is none.
    public let arc: String
    /// The reasons of a failed attestation, comma-separated, if the account shows them; otherwise empty.
    public let rejectionReasons: String
    /// Whether there is a newer configuration that ``FetchCalls/fetchConfig()`` has not returned yet.
    public let isConfigChanged: Bool
    /// Whether the app still uses pins that are no longer allowed. Reading ``FetchCalls/pins(_:)`` clears
    /// it.
    public let isForceApplyPins: Bool
    /// The configuration that a `?measurement` fetch measured; otherwise nil.
    public let measurementConfig: MeasurementConfig?
    /// The instance that the service measured, if there is a ``measurementConfig``.
    public let instance: InstanceID?
    /// The failure, in words for people; empty if there was none.
    public let reason: String
    /// The token in a form that may be logged: always a JSON object.
    public let loggableToken: String

    package init(
      _ result: ProofKit.FetchResult, isConfigChanged: Bool = false, isForceApplyPins: Bool = false
    ) {
      status = FetchStatus(result.status)
      token = result.token
      secureString = result.secureString
      arc = result.arc
      rejectionReasons = result.rejectionReasons
      self.isConfigChanged = isConfigChanged
      self.isForceApplyPins = isForceApplyPins
      measurementConfig = result.measurementConfig
      instance = result.instance
      reason = result.reason
      loggableToken = result.loggableToken
    }
  }

  /// The status of a fetch. Numbers and order are those of the statuses that such apps know.
  public enum FetchStatus: Int, Sendable, CaseIterable {
    /// The fetch succeeded.
    case success = 0
    /// The service cannot be reached.
    case noNetwork
    /// The peer's certificate or key is not the expected one. Nothing was sent to it.
    case mitmDetected
    /// The network is too slow, or the time of a blocking call ran out.
    case poorNetwork
    /// The answer is not one of the service's.
    case noService
    /// The text is no host name, or the API takes no measurement.
    case badURL
    /// The account has no such API.
    case unknownURL
    /// The API needs no token.
    case unprotectedURL
    /// The calls are not initialised.
    case notInitialized
    /// The app failed, and asked for a secure string or a custom token.
    case rejected
    /// The account has not enabled secure strings or custom tokens.
    case disabled
    /// The account has no such secure string.
    case unknownKey
    /// The name is not one of a secure string.
    case badKey
    /// The claims of a custom token are no JSON object.
    case badPayload
    /// The service refused the request, or the app could not be measured.
    case internalError
    /// The installation's key cannot be used now.
    case keyUnavailable

    /// The app's next step.
    public enum Recommendation: Sendable, CaseIterable {
      /// Call the API, with the token if there is one.
      case `continue`
      /// Do not call the API; let the user try again on a better or another network.
      case retry
      /// Tell the user why the app cannot continue.
      case message
      /// Report a defect or a wrong set-up.
      case error
    }

    /// The app's next step. After ``noService`` an app may also choose to retry.
    public var recommendation: Recommendation {
      switch self {
      case .success, .unprotectedURL, .unknownURL, .noService: .continue
      case .noNetwork, .poorNetwork, .mitmDetected, .keyUnavailable: .retry
      case .rejected: .message
      case .badURL, .notInitialized, .disabled, .unknownKey, .badKey, .badPayload, .internalError:
        .error
      }
    }

    package init(_ status: ProofKit.FetchStatus) {
      // The library's two more are thrown, and stand in no result.
      self = FetchStatus(rawValue: status.rawValue) ?? .internalError
    }

    package var own: ProofKit.FetchStatus { .init(rawValue: rawValue) ?? .internalError }
  }
}

extension FetchCalls.FetchStatus: CustomStringConvertible {
  /// Lower-case words, such as "no network".
  public var description: String { own.description }
}

extension FetchCalls.FetchResult: CustomStringConvertible, CustomReflectable {
  /// Status, code and reason; never the token or the secure string.
  public var description: String {
    var text = "fetch result: \(status)"
    if !arc.isEmpty { text += ", ARC \(arc)" }
    if !rejectionReasons.isEmpty { text += ", rejected for \(rejectionReasons)" }
    if !reason.isEmpty { text += ", \(reason)" }
    return text
  }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
