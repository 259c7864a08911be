internal import ProofModel

extension AttestationService {
  /// The demand of a challenge on the installation's key, and the service's note of it.
  ///
  /// A certificate identifies one TPM. So it is demanded only if the policy demands hardware, and
  /// the device has not shown evidence before.
  func keyDemand(
    of question: AttestationQuestion, _ known: DeviceRow?, _ policy: Policy, at now: Int64
  ) -> (KeyDemand?, SaltNote.Credential?) {
    guard question.hasKey else { return (nil, nil) }
    guard policy.installationKey == .hardware, let tpmAuthorities else { return (.nothing, nil) }
    guard let endorsement = question.endorsement else {
      let isProved = known.flatMap { DeviceNote($0.note)?.key?.kind } == .tpm
      return (isProved ? .nothing : .evidence, nil)
    }
    guard let secret = try? CredentialSecret(CoreSodium.random(count: CredentialSecret.byteCount))
    else { preconditionFailure("The count is right.") }
    guard let credential = tpmAuthorities.credential(holding: secret, for: endorsement, at: now)
    else {
      // Count it and do not log it: a stranger can send any number of such questions.
      metrics.count(.endorsementsRefused)
      return (.nothing, nil)
    }
    return (
      .credential(credential),
      SaltNote.Credential(secret: Digest(hashing: secret.bytes), point: endorsement.point)
    )
  }
}
