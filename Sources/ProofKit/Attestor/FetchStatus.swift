// SPDX-License-Identifier: Apache-2.0

/// The status of a fetch. Numbers and order are those of the fetch statuses that apps know.
public enum FetchStatus: Int, Sendable, CaseIterable {
  /// The fetch succeeded: the token, the secure string or the custom token is in the result.
  case success = 0
  /// The service cannot be reached: no name resolution, no route, or the connection is refused.
  case noNetwork
  /// The peer's certificate or key is not the expected one, so it may be an attacker in the middle.
  /// Nothing was sent to it.
  case mitmDetected
  /// The network is too slow or too unreliable, or the time of a blocking call ran out.
  case poorNetwork
  /// The answer is not one of the service's: it is down, stopping or overloaded.
  case noService
  /// The text is no host name, not an `https` URL, or a measurement for an API whose tokens are not
  /// encrypted.
  case badURL
  /// The account has no such API.
  case unknownURL
  /// The API is known, and needs no token.
  case unprotectedURL
  /// No ``Attestor/initializeAndWait(_:updates:comment:)`` has succeeded yet.
  case notInitialized
  /// The app failed the attestation, and asked for a secure string or a custom token.
  case rejected
  /// The account has not switched secure strings or custom tokens on.
  case disabled
  /// The account has no such secure string.
  case unknownKey
  /// The name is not one of a secure string: empty, or longer than 64 characters.
  case badKey
  /// The claims of a custom token are no JSON object.
  case badPayload
  /// A failure that should not happen in an app in the field.
  case internalError
  /// The installation's key cannot be used now: its TPM is busy, locked out, absent, or does not
  /// answer. ``FetchResult/reason`` gives the cause and the next step.
  case keyUnavailable

  /// The app's next step.
  public enum Recommendation: Sendable, CaseIterable {
    /// Continue and call the API, with the token if there is one.
    case `continue`
    /// Do not call the API; let the user try again on a better or another network.
    case retry
    /// Tell the user why the app cannot continue.
    case message
    /// Report a defect or a wrong set-up.
    case error
  }

  /// The app's next step.
  ///
  /// After ``noService`` an app may also choose to retry.
  public var recommendation: Recommendation {
    switch self {
    case .success, .unprotectedURL, .unknownURL, .noService: .continue
    case .noNetwork, .poorNetwork, .mitmDetected, .keyUnavailable: .retry
    case .rejected: .message
    case .badURL, .notInitialized, .disabled, .unknownKey, .badKey, .badPayload, .internalError:
      .error
    }
  }
}

extension FetchStatus: CustomStringConvertible {
  /// Lower-case words, such as "no network".
  public var description: String {
    switch self {
    case .success: "success"
    case .noNetwork: "no network"
    case .mitmDetected: "mitm detected"
    case .poorNetwork: "poor network"
    case .noService: "no service"
    case .badURL: "bad url"
    case .unknownURL: "unknown url"
    case .unprotectedURL: "unprotected url"
    case .notInitialized: "not initialized"
    case .rejected: "rejected"
    case .disabled: "disabled"
    case .unknownKey: "unknown key"
    case .badKey: "bad key"
    case .badPayload: "bad payload"
    case .internalError: "internal error"
    case .keyUnavailable: "key unavailable"
    }
  }
}
