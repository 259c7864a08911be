// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

extension GateSession {
  /// Adds a signature by the installation's own key (ES256) to a guarded request, for a route that demands it.
  ///
  /// The key is the one that the attestor was made with. It signs at each call: in a TPM, the private half never
  /// leaves that TPM, so an app with a copied storage cannot make this signature elsewhere. The call may block up to
  /// the time limit of the key's place.
  ///
  /// - Parameter request: The request as ``guarded(_:event:data:)`` returned it.
  /// - Returns: The request with the second signature (RFC 9421, tag `proofkit-key`).
  /// - Throws: ``GateError``; ``GateError/installationKey(_:)`` if the key cannot sign.
  package func signedByInstallation<R: ProvableRequest>(_ request: R) throws(GateError) -> R {
    guard let key = attestor.surroundings.installationKey else { throw .installationKey(nil) }
    var head = try head(of: request)
    let held = try draw(at: clock.uptime()).held
    guard isAllowed(head), held.admitted.admission.covers(head.authority) else {
      throw .hostNotListed(head.authority)
    }
    let hasDigest = request.body != nil || !(head.method == "GET" || head.method == "HEAD")
    let body = hasDigest ? ContentDigest(Digest(hashing: request.body ?? [])) : nil
    let now = state.withLock { $0.time(clock, at: clock.uptime()) }
    do {
      try StandardForm().sign(
        &head, body: body, keyID: Base64.encode(held.admitted.handle.bytes, .url), created: now,
        nonce: Base64.encode(Salt.random().bytes, .url), byInstallation: key.signature)
    } catch let error as InstallationKeyError {
      throw .installationKey(error)
    } catch {
      throw .malformedRequest(reason: "\(error)")
    }
    var signed = request
    if hasDigest {
      signed.set("content-digest", to: head.fields.values(of: "content-digest").first)
    }
    for name in ["signature-input", "signature"] {
      // The proof of the gate's key, in the standard form, stands in the same two fields.
      let others = request.values(of: name).filter { !$0.hasPrefix(StandardForm.installationTag) }
      signed.set(name, to: (others + head.fields.values(of: name)).joined(separator: ", "))
    }
    return signed
  }
}
