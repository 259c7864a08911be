// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// Checks the signatures of messages that apps send with their token.
///
/// The service hands the account's message key to apps that pass, and names it in their tokens
/// (`mskid`); `proofctl messagekey get` shows name and key. While a key is being rotated, a backend
/// holds the old one too, for as long as a token lives.
public struct MessageVerifier: Sendable {
  private let keys: [String: MessageKey]

  /// Makes a verifier.
  ///
  /// - Parameter keys: The account's message keys by name.
  public init(_ keys: [String: MessageKey]) { self.keys = keys }

  /// Checks a message.
  ///
  /// - Parameters:
  ///   - message: The message as it was signed; it must contain the token, because the key is the
  ///     same in all apps.
  ///   - signature: The signature in base64.
  ///   - token: The token of the request, checked by a ``TokenVerifier``.
  ///   - claims: The token's claims.
  /// - Throws: ``TokenRefusal``: `claims` if the token names no key, `key` if it names an unknown
  ///   one, `binding` if the message does not contain the token, `signature` if that is wrong.
  public func check(
    _ message: String, signature: String, token: String, claims: Claims
  ) throws(TokenRefusal) {
    guard let name = claims.messageKeyID else { throw TokenRefusal(.claims) }
    guard let key = keys[name] else { throw TokenRefusal(.key) }
    guard !token.isEmpty, Array(message.utf8).contains(Array(token.utf8)) else {
      throw TokenRefusal(.binding)
    }
    let bytes: JOSESecret
    do { bytes = try JOSESecret(decoding: Array(signature.utf8).span, as: .standard) } catch {
      throw TokenRefusal(.signature)
    }
    let isRight = bytes.withBytes { key.isSignature($0, of: message) }
    guard isRight else { throw TokenRefusal(.signature) }
  }
}
