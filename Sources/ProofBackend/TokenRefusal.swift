public import ProofJOSE

/// Why a token was refused: a word for machines, and words for the people who run the backend.
///
/// Tell the app the word at most. The words say more than a stranger should know.
public struct TokenRefusal: Error, Sendable, Hashable {
  /// The word.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The request has no token.
    case missing
    /// The text is not a token, or not of the expected kind.
    case malformed
    /// Its algorithm is not its key's.
    case algorithm
    /// Its key is not known here.
    case key
    /// Its signature is wrong, or it does not open.
    case signature
    /// It has ended.
    case expired
    /// It has not begun, or comes from the future.
    case early
    /// It is valid for too long.
    case lifetime
    /// The token has another issuer.
    case issuer
    /// The token is for another audience.
    case audience
    /// The token is not bound to this request.
    case binding
    /// A claim is missing or not written as it must be.
    case claims
    /// This backend is at fault.
    case unavailable
  }

  /// The word.
  public let reason: Reason
  /// The JOSE library's error, if it reported one.
  public let error: JOSEError?

  init(_ reason: Reason) {
    self.reason = reason
    error = nil
  }

  /// For tools that set verifiers up themselves.
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
