// SPDX-License-Identifier: Apache-2.0

import ProofModel

// The part of a fetch that is about the installation's key.

extension AttestationExchange {
  /// Asks for a challenge. If the service demands evidence of the TPM, asks a second time with it.
  ///
  /// - Returns: The challenge, and the report's statement about the key; nil if the app has no key.
  func challenge(
    for device: InstanceID, _ channel: inout ServiceChannel
  ) throws(Failure) -> (AttestationChallenge, InstallationClaim?) {
    guard let key = surroundings.installationKey else {
      return (try ask(for: device, nil, hasKey: false, &channel), nil)
    }
    let identity = try Self.keyed { () throws(InstallationKeyError) in try key.identity() }
    func claim(_ secret: CredentialSecret? = nil) -> InstallationClaim {
      InstallationClaim(identity.point, in: identity.place, secret: secret)
    }
    let first = try ask(for: device, nil, hasKey: true, &channel)
    // The certificate identifies the machine.
    guard first.key == .evidence, identity.place == .tpm,
      !surroundings.observer.collection.contains(.withoutUniqueIdentifiers),
      let certificate = try Self.keyed({ () throws(InstallationKeyError) in
        try key.endorsementCertificate()
      }), certificate.count <= Endorsement.certificateMax
    else { return (first, claim()) }
    // The first challenge's salt is not used, and expires.
    let second = try ask(
      for: device, Endorsement(identity.point, certificate: certificate), hasKey: true, &channel)
    guard case .credential(let credential) = second.key else { return (second, claim()) }
    let secret = try Self.keyed { () throws(InstallationKeyError) in try key.open(credential) }
    return (second, claim(secret))
  }

  private func ask(
    for device: InstanceID, _ endorsement: Endorsement?, hasKey: Bool,
    _ channel: inout ServiceChannel
  ) throws(Failure) -> AttestationChallenge {
    let question = AttestationQuestion(
      keyID: surroundings.key.id, device: device, purpose: request.purpose,
      configSerial: channel.configuration?.serial ?? 0, account: channel.initial.account,
      sdkVersion: CoreProbe.version, host: request.name, hasKey: hasKey, endorsement: endorsement,
      withholding: surroundings.observer.collection)
    let bytes = try channel.post("challenge", question.bytes).body
    guard let challenge = try? AttestationChallenge(bytes), (challenge.key != nil) == hasKey else {
      throw Failure(
        .noService, "what answers is no challenge", bytes.isEmpty ? .empty : .garbled)
    }
    guard !challenge.draft.sources.map(\.id).contains(where: question.withheld.withholds) else {
      throw Failure(
        .noService, "the service asks for facts that this app withholds, so nothing was reported",
        .garbled)
    }
    return challenge
  }

  func sign(_ message: [UInt8], _ refusal: inout InstallationKeyError?) -> InstallationSignature? {
    do throws(InstallationKeyError) {
      return try surroundings.installationKey?.signature(of: message)
    } catch {
      refusal = error
      return nil
    }
  }

  private static func keyed<Value>(
    _ body: () throws(InstallationKeyError) -> Value
  ) throws(Failure) -> Value {
    do throws(InstallationKeyError) { return try body() } catch { throw Failure(error) }
  }
}
