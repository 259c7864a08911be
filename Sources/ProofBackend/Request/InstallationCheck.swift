// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
import ProofModel
import ProofRequest

extension RequestVerifier {
  /// Checks the signature by the installation's own key that stands beside a proof. The proof has the moment and the
  /// single use; this signature covers the same request, and names the same installation.
  static func checkInstallation(
    _ head: RequestHead, _ form: StandardForm, _ request: ReceivedRequest, _ handle: String
  ) throws(RequestRefusal) {
    let proof = try InstallationProof(reading: head, form: form)
    guard proof.keyID == handle, let point = request.installationKey,
      let key = try? JSONWebKey(publicBytes: point.bytes, algorithm: .es256)
    else { throw .unknownKey }
    let isSigned = proof.signature.withBytes { key.isSignature($0, of: proof.message.span) }
    guard isSigned else { throw .wrongSignature }
    if let body = request.body {
      guard body == proof.body?.digest ?? Digest(hashing: []) else { throw .otherBody }
    }
  }
}
