/// The two signatures that a request may carry: of the gate's key, and of the installation's own key.
///
/// Each has a tag of its own, which is its label as well, so that one never stands for the other.
enum SignatureKind: Sendable, Hashable {
  case hmac
  case installation

  /// The tag of the signature's parameters, and the label that a signer uses.
  var tag: String { self == .hmac ? StandardForm.tag : StandardForm.installationTag }
  /// The algorithm's name in RFC 9421.
  var algorithm: String {
    self == .hmac ? StandardForm.algorithm : StandardForm.installationAlgorithm
  }
  /// How many bytes a signature has.
  var signatureBytes: Int { self == .hmac ? 32 : 64 }
}
