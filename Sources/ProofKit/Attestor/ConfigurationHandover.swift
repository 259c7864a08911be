// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// How a configuration's key is replaced: the key before signs the name of the key after it. An app that knows an
/// earlier key's fingerprint follows these statements to the present key. SERVICE.md section 6.
enum ConfigurationHandover {
  /// The fingerprints that an app with one of them may trust, each named by the one before.
  ///
  /// - Parameters:
  ///   - fingerprint: The fingerprint that the app was built with.
  ///   - claims: A configuration's claims. Its signature is not checked yet.
  /// - Returns: That fingerprint, and those that the handovers lead to.
  /// - Throws: ``SetupError/malformedConfiguration(reason:)``,
  ///   ``SetupError/untrustedConfiguration(reason:)``.
  static func trusted(
    from fingerprint: Digest, by claims: [String: JSONText]
  ) throws(SetupError) -> [Digest] {
    guard claims["hnd"] != nil else { return [fingerprint] }
    let handovers = try AccountConfiguration.claim(claims, "hnd", \.texts)
    let account = try AccountConfiguration.claim(claims, "acc", \.text)
    guard handovers.count <= AttestationWire.handoversMax else {
      throw .malformedConfiguration(
        reason:
          "claim hnd has \(handovers.count) handovers, \(AttestationWire.handoversMax) are allowed")
    }
    var trusted = [fingerprint]
    for text in handovers {
      // Skips handovers from before this app was built: they begin with keys that it does not know.
      let (old, new) = try read(text, of: account)
      guard trusted.last == AccountConfiguration.fingerprint(of: old.key) else { continue }
      try AccountConfiguration.verify(old.parts, by: old.key)
      trusted.append(AccountConfiguration.fingerprint(of: new))
    }
    return trusted
  }

  private static func read(
    _ text: String, of account: String
  ) throws(SetupError) -> (old: (key: IssuerPublicKey, parts: [Substring]), new: IssuerPublicKey) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else {
      throw .malformedConfiguration(reason: "claim hnd has an entry that is not a JWS")
    }
    let header = try AccountConfiguration.object(parts[0], "handover's header")
    let claims = try AccountConfiguration.object(parts[1], "handover's claims")
    guard header["alg"]?.text == "EdDSA", header["crit"] == nil,
      header["typ"]?.text == AttestationWire.handoverType
    else { throw .untrustedConfiguration(reason: "claim hnd has a JWS that is not a handover") }
    guard try AccountConfiguration.claim(claims, "acc", \.text) == account else {
      throw .untrustedConfiguration(reason: "claim hnd has a handover of another account")
    }
    let old = try AccountConfiguration.key(of: claims)
    return ((old, parts), try AccountConfiguration.key(of: claims, "nxt"))
  }
}
