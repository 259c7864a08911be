// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// The reason why a token was refused: a word for machines, and words for the people who run the
/// backend.
///
/// Send the app the word at most. The words for people may help an attacker.
public struct TokenRefusal: Error, Sendable, Hashable {
  /// The word for machines.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The request has no token.
    case missing
    /// The text is not a token, or not of the expected kind.
    case malformed
    /// The header's algorithm is not the key's.
    case algorithm
    /// The token's key is not known here.
    case key
    /// The signature is wrong, or the token does not open.
    case signature
    /// The token has expired.
    case expired
    /// The token is not valid yet, or was issued in the future.
    case early
    /// The token's lifetime is too long.
    case lifetime
    /// The token has another issuer.
    case issuer
    /// The token is for another audience.
    case audience
    /// The token is not bound to this request.
    case binding
    /// A claim is missing or malformed.
    case claims
    /// This backend is at fault.
    case unavailable
  }

  /// The word for machines.
  public let reason: Reason
  /// The JOSE library's error, if it reported one.
  public let error: JOSEError?

  init(_ reason: Reason) {
    self.reason = reason
    error = nil
  }

  /// Makes a refusal, for tools that set up verifiers themselves.
  package init(of error: JOSEError) { self.init(error) }

  init(_ error: JOSEError) {
    self.error = error
    reason =
      switch error {
      case .algorithmRefused, .algorithmMismatch, .encryptionRefused: .algorithm
      case .keyUnknown: .key
      case .signatureWrong, .signatureMissing, .decryptionFailed: .signature
      case .expired: .expired
      case .notYetValid, .issuedInFuture: .early
      case .validTooLong: .lifetime
      case .issuerRefused: .issuer
      case .audienceRefused: .audience
      case .bindingWrong: .binding
      case .claimMissing, .claimInvalid, .measurementInClear, .subjectRefused: .claims
      case .libraryFailed, .randomFailed, .heapNotReserved: .unavailable
      default: .malformed
      }
  }
}

extension TokenRefusal: CustomStringConvertible {
  /// The failure and the next step, as text.
  public var description: String {
    switch (reason, error) {
    case (_, let error?): error.description
    case (.missing, nil): "The request has no token. Send it as Proof-Token."
    case (.binding, nil): "The request lacks the header that its token must be bound to."
    case (.claims, nil): "The token carries no measurement. Fetch one with \"?measurement\"."
    default: "The token was refused: \(reason.rawValue)."
    }
  }
}
