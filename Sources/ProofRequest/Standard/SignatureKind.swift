// SPDX-License-Identifier: Apache-2.0

/// The two signatures that a request may carry: of the gate's key, and of the installation's own key.
///
/// Each has a tag of its own, which is its label as well, so that one never stands for the other.
enum SignatureKind: Sendable, Hashable {
  case hmac
  case installation

  /// The tag of the signature's parameters, and the label that a signer uses.
  var tag: StaticString { self == .hmac ? "proofkit" : "proofkit-key" }
  /// The algorithm's name in RFC 9421.
  var algorithm: StaticString { self == .hmac ? "hmac-sha256" : "ecdsa-p256-sha256" }
  /// How many bytes a signature has.
  var signatureBytes: Int { self == .hmac ? 32 : 64 }
}
