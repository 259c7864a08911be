// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The claims of a custom token: those of the app, as far as the account accepts them.
enum CustomClaims {
  /// The claims that apps may set if the policy names them: those that RFC 7519 registers, except `exp`,
  /// which the service sets.
  static let registered = ["iss", "sub", "aud", "nbf", "iat", "jti"]

  /// The reason why claims are refused: a sentence for the app's developer.
  struct Refusal: Error { let words: String }

  /// Reads the claims of an app.
  ///
  /// - Parameters:
  ///   - payload: The app's bytes.
  ///   - allowed: Which of ``registered`` it may set.
  /// - Returns: The claims, without those of the service.
  /// - Throws: ``Refusal``.
  static func read(
    _ payload: [UInt8], allowing allowed: [String]
  ) throws(Refusal) -> Claims {
    let limit = AttestationWire.customPayloadMax
    guard payload.count <= limit else {
      throw Refusal(words: "the claims have \(payload.count) bytes; at most \(limit) are taken")
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: payload.span)
    } catch {
      throw Refusal(words: "the claims are not JSON that the service takes: \(error)")
    }
    guard case .object(let object) = value else {
      throw Refusal(words: "the claims are JSON, but no object")
    }
    for (name, _) in object.members {
      if registered.contains(name) {
        guard allowed.contains(name) else {
          throw Refusal(
            words: "the account does not take the claim “\(name)” of apps (policy custom-claims)")
        }
      } else if Claims.typedNames.contains(name) || reserved.contains(name) {
        throw Refusal(words: "the claim “\(name)” is not an app's to set")
      }
    }
    do {
      return try Claims(parsing: payload.span)
    } catch {
      throw Refusal(words: error.description)
    }
  }

  /// Names that have a meaning in API tokens, beside the typed claims.
  private static let reserved = ["mgn", "mmd"]
}
