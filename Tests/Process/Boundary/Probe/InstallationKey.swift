// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

/// A key that signs nothing, and says why.
private struct NoKey: InstallationKey {
  let refusal: InstallationKeyError

  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity { throw refusal }

  func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature { throw refusal }

  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? { nil }

  func open(
    _ credential: KeyCredential
  ) throws(InstallationKeyError) -> CredentialSecret { throw refusal }
}

/// A question, a challenge and a report of version 2.
func probeInstallationKey(_ baseline: BaselineProbe) throws {
  let point = try InstallationPoint([UInt8](repeating: 1, count: InstallationPoint.byteCount))
  let signature = try InstallationSignature(
    [UInt8](repeating: 2, count: InstallationSignature.byteCount))
  let secret = try CredentialSecret([UInt8](repeating: 3, count: CredentialSecret.byteCount))
  let endorsement = Endorsement(point, certificate: [4])
  try expect(
    endorsement.point == point && endorsement.certificate.count < Endorsement.certificateMax)
  let evidence = try evidence()
  let asked = AttestationQuestion(
    keyID: baseline.key.id, device: InstanceID(of: evidence, account: "acme"), purpose: .token,
    configSerial: 0, account: "acme", sdkVersion: "1.0", hasKey: true, endorsement: endorsement)
  let question = try AttestationQuestion(asked.bytes)
  try expect(question.hasKey && question.endorsement == endorsement)

  let credential = KeyCredential(object: [5], seed: [6])
  try expect(credential.object.count < KeyCredential.partMax && credential.seed == [6])
  let draft = try BaselineDraft(salt: .random(), sources: baseline.config.sources)
  for demand in [KeyDemand.nothing, .evidence, .credential(credential)] {
    let sent = AttestationChallenge(draft, lifetime: 30, configSerial: 5, key: demand)
    try expect(try AttestationChallenge(sent.bytes).key == demand)
  }

  try expect(InstallationKeyPlace.allCases == [.storage, .tpm])
  let claim = InstallationClaim(point, in: .tpm, secret: secret)
  let signer: InstallationClaim.Signer = (claim, { _ in signature })
  let made = try AttestationReport.make(
    .init(.token, name: "api.example.com"), of: evidence,
    answering: AttestationChallenge(draft, lifetime: 30, configSerial: 5, key: .nothing),
    account: "acme", configSerial: 0, sdkVersion: "1.0", with: baseline.key, signedBy: signer)
  let report = try AttestationReport(made.bytes)
  try expect(report.key?.point == point && report.key?.place == .tpm)
  try expect(report.key?.secret == secret && report.signature == signature)
  try expect(report.signedMessage.count > 64)

  let identity = InstallationKeyIdentity(point, in: .storage, note: "no TPM")
  try expect(identity.point == point && identity.place == .storage && identity.note == "no TPM")
  let refusals: [InstallationKeyError] = [
    .storage(path: "p", reason: "r"), .damaged(path: "p"), .inUse(path: "p"),
    .tpmAbsent(device: "d"), .tpmDenied(device: "d"), .tpmBusy(device: "d"),
    .tpmLockedOut(device: "d"), .tpmTimedOut(device: "d"), .tpmBrokenOff(device: "d"),
    .tpmHasOtherKey(device: "d", path: "p"), .tpmFailed(device: "d", code: 1), .libraryFailed,
  ]
  for refusal in refusals {
    let key = NoKey(refusal: refusal)
    try expect(try key.endorsementCertificate() == nil && !refusal.description.isEmpty)
    do throws(InstallationKeyError) {
      _ = try key.identity()
      _ = try key.signature(of: [])
      _ = try key.open(credential)
    } catch {
      try expect(error == refusal)
    }
  }
}
