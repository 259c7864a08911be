// SPDX-License-Identifier: Apache-2.0

/// The reason why a request has no valid proof. The number is stable and may stand in logs.
public enum RequestRefusal: UInt8, Error, Sendable, Hashable, CaseIterable {
  /// The request has no signature with the tag of this form.
  case noSignature = 1
  /// `Signature-Input` is no dictionary of lists of RFC 9421, or a label, component or parameter stands
  /// in it twice.
  case malformedInput = 2
  /// `Signature` is no dictionary of byte sequences, or a label stands in it twice.
  case malformedSignature = 3
  /// Two signatures have the tag.
  case severalSignatures = 4
  /// `Signature-Input` names a label that `Signature` does not have.
  case labelWithoutSignature = 5
  /// A component stands in the list twice.
  case repeatedComponent = 6
  /// A component that this form does not know.
  case unknownComponent = 7
  /// A covered header field that the request does not have.
  case missingField = 8
  /// A component that this form requires is not covered.
  case uncoveredComponent = 9
  /// A header field that can stand once stands twice.
  case repeatedField = 10
  /// A parameter that this form does not know, or one with a value of another type.
  case badParameter = 11
  /// `created`, `keyid`, `nonce` or `tag` is missing.
  case missingParameter = 12
  /// `alg` names another algorithm than this form's.
  case wrongAlgorithm = 13
  /// The target has a spelling that the route does not allow.
  case ambiguousTarget = 14
  /// The request has a body, and no digest of it is covered.
  case uncoveredBody = 15
  /// `Content-Digest` is no dictionary of byte sequences with a SHA-256 digest.
  case malformedDigest = 16
  /// The body has another digest.
  case otherBody = 17
  /// The key id belongs to no key that the verifier knows.
  case unknownKey = 18
  /// The signature is not the key's over this request.
  case wrongSignature = 19
  /// The proof is older than the window.
  case stale = 20
  /// The proof's moment is further ahead than the window.
  case ahead = 21
  /// The proof was used before.
  case replayed = 22
  /// `expires` has passed.
  case expired = 23
  /// The header fields of the signature are longer than ``RequestLimits/fieldBytes``.
  case tooLong = 24
}

/// Bounds on a verifier's work for one request.
public enum RequestLimits {
  /// Bytes of `Signature-Input` and of `Signature`, each.
  public static let fieldBytes = 4096
  /// Components that one signature may cover.
  public static let components = 32
  /// Characters of a nonce.
  public static let nonceBytes = 128
}

extension RequestRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .noSignature: "The request has no signature of this form."
    case .malformedInput: "Signature-Input is malformed."
    case .malformedSignature: "Signature is malformed."
    case .severalSignatures: "Two signatures have the same tag."
    case .labelWithoutSignature: "A label in Signature-Input has no signature."
    case .repeatedComponent: "A component is covered twice."
    case .unknownComponent: "A covered component is not known."
    case .missingField: "A covered header field is not in the request."
    case .uncoveredComponent: "A part of the request that must be covered is not covered."
    case .repeatedField: "A header field that can be given once is given twice."
    case .badParameter: "A parameter of the signature is unknown or has the wrong type."
    case .missingParameter: "The signature lacks created, keyid, nonce or tag."
    case .wrongAlgorithm: "The signature names another algorithm."
    case .ambiguousTarget: "The target has a spelling that servers read differently."
    case .uncoveredBody: "The request has a body, and its digest is not covered."
    case .malformedDigest: "Content-Digest is malformed or has no SHA-256 digest."
    case .otherBody: "The body does not have the digest that was signed."
    case .unknownKey: "The key id is not known."
    case .wrongSignature: "The signature does not match the request."
    case .stale: "The proof is too old."
    case .ahead: "The moment of the proof is in the future."
    case .replayed: "The proof was used before."
    case .expired: "The proof has expired."
    case .tooLong: "The header fields of the signature are too long."
    }
  }
}
