// SPDX-License-Identifier: Apache-2.0

public import ProofModel
import ProofRequest

/// The reason why a request does not fit the digest that it carries in a header field of its own.
///
/// The proof authenticates the digest. So the reason is sound where the proof is that of an installation that the gate
/// knows, and not a guess from unauthenticated bytes.
public enum DigestFieldRefusal: Error, Sendable, Hashable, CaseIterable {
  /// The request has no such field.
  case missing
  /// The request has the field twice.
  case repeated
  /// The value is not base64url of 32 bytes.
  case malformed
  /// The proof was not made over this digest: the field or the proof was changed.
  case notProved
  /// The body is not the one that was proved. The URL may differ as well.
  case otherBody
  /// The body is the one that was proved; method, URL or `Authorization` are not.
  case otherURL
}

extension DigestFieldRefusal {
  /// The part that a client gets.
  public var told: GateRefusal.Kind {
    switch self {
    case .repeated, .malformed: .refused
    case .missing, .notProved, .otherBody, .otherURL: .proof
    }
  }
}

extension DigestFieldRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .missing: "The header field of the request's digest is missing."
    case .repeated: "The header field of the request's digest is given twice."
    case .malformed: "The header field of the request's digest is not base64url of 32 bytes."
    case .notProved: "The proof was not made over the digest in its header field."
    case .otherBody: "The body is not the one that was proved."
    case .otherURL: "The method, the URL or the Authorization is not the one that was proved."
    }
  }
}

extension RequestVerifier {
  /// Checks a compact proof over the digest that the request carries, and then the request against that digest.
  static func checked(
    _ text: String, over request: RequestDigest, account: Digest?, _ head: RequestHead,
    field: String, with keys: CompactKeys
  ) throws(RejectedRequest) -> CompactToken {
    guard head.fields.count(of: field) <= 1 else { throw .digestField(.repeated) }
    guard let value = head.fields.first(field) else { throw .digestField(.missing) }
    guard let bytes = Base64.decode(value, .url), let claimed = try? Digest(bytes) else {
      throw .digestField(.malformed)
    }
    let token: CompactToken
    do throws(GateRefusal) {
      token = try CompactToken(
        checking: text, for: .request(request.claiming(claimed), account: account),
        with: keys)
    } catch {
      switch error {
      // The tag is right over the claimed digest, and the body's first two bytes in the proof are others.
      case .reserved where claimed.bytes != request.bytes: throw .digestField(.otherBody)
      case .tag, .otherBody, .otherRequest: throw .digestField(.notProved)
      default: throw .gate(error)
      }
    }
    guard claimed.bytes == request.bytes else { throw .digestField(.otherURL) }
    return token
  }
}
