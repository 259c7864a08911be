// SPDX-License-Identifier: Apache-2.0

/// The status of a fetch. Numbers and order are those of the fetch statuses that apps know.
package enum FetchStatus: Int, Sendable, CaseIterable {
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
  /// The attestor has no account yet.
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
  /// The call was cancelled.
  case cancelled
  /// The app has no key for messages: no token was fetched yet, or the account has none.
  case noMessageKey
}

extension FetchStatus: CustomStringConvertible {
  /// Lower-case words, such as "no network".
  package var description: String {
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
    case .cancelled: "cancelled"
    case .noMessageKey: "no message key"
    }
  }
}
