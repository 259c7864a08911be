// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

extension AttestationService {
  /// The demand of a challenge on the installation's key. The secret of a credential follows from the
  /// challenge's salt, so that the service keeps nothing of it.
  ///
  /// A certificate identifies one TPM. So it is demanded only if the policy demands hardware, and
  /// the device has not shown evidence before.
  func keyDemand(
    of question: AttestationQuestion, _ known: DeviceRow?, _ policy: Policy, _ salt: Salt,
    _ saltKey: SaltKey, at now: UnixTime
  ) -> KeyDemand? {
    guard question.hasKey else { return nil }
    guard policy.installationKey == .hardware, let tpmAuthorities else { return .nothing }
    guard let endorsement = question.endorsement else {
      let isProved = known.flatMap { DeviceNote($0.note)?.key?.kind } == .tpm
      return isProved ? .nothing : .evidence
    }
    let secret = saltKey.credentialSecret(salt, endorsement.point)
    guard let credential = tpmAuthorities.credential(holding: secret, for: endorsement, at: now)
    else {
      // Count it and do not log it: a stranger can send any number of such questions.
      metrics.count(.endorsementsRefused)
      return .nothing
    }
    return .credential(credential)
  }
}
