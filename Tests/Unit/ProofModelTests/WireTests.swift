// SPDX-License-Identifier: Apache-2.0

import ProofCore
import ProofModel
import Testing

@Suite("The wire's numbers")
struct WireTests {
  @Test("are in Swift what they are in wire.h")
  func lengths() {
    #expect(ProofNonce.byteCount == Int(PFC_NONCE_BYTES))
    #expect(Proof.byteCount == Int(PFC_PROOF_BYTES))
    #expect(Salt.byteCount == Int(PFC_SALT_BYTES))
    #expect(Digest.byteCount == Int(PFC_DIGEST_BYTES))
    #expect(KeyID.byteCount == Int(PFC_KEY_ID_BYTES))
    #expect(HardwareID.byteCount == Int(PFC_ID_BYTES))
    #expect(InstanceID.byteCount == Int(PFC_ID_BYTES))
    #expect(IssuerID.byteCount == Int(PFC_ISSUER_ID_BYTES))
    #expect(TokenDigest.byteCount == Int(PFC_TOKEN_DIGEST_BYTES))
    #expect(HardwarePublicKey.byteCount == Int(PFC_PUBLIC_KEY_BYTES))
    #expect(IssuerPublicKey.byteCount == Int(PFC_PUBLIC_KEY_BYTES))
    #expect(Measurement.byteCount == Int(PFC_MEASUREMENT_BYTES))
    #expect(MeasurementProofKey.byteCount == Int(PFC_KEY_BYTES))
    #expect(Challenge.byteCount == Int(PFC_CHALLENGE_BYTES))
    #expect(MeasurementToken.byteCount == 288)
    #expect(SignedOrder.byteCount == 124)
    #expect(Command.byteCountMax == 256)
    #expect(EvidenceRecord.nameByteCountMax == 255)
    #expect(Frame.packetSizes == 20...514)
    #expect(StorageArea.byteCountMax == 232)
    #expect(StorageArea.recordCount == 1 + Int(PFC_SLOTS))
    #expect(HardwareKeys.issuerCountMax == Int(PFC_ISSUERS_MAX))
  }

  @Test("of modes, kinds, classes, forms, types and verdicts are those of the headers")
  func values() {
    #expect(UInt32(Mode.production.rawValue) == PFC_MODE_PRODUCTION.rawValue)
    #expect(UInt32(Mode.development.rawValue) == PFC_MODE_DEVELOPMENT.rawValue)
    #expect(UInt32(ProofKind.integrity.rawValue) == PFC_KIND_INTEGRITY.rawValue)
    #expect(UInt32(ProofKind.device.rawValue) == PFC_KIND_DEVICE.rawValue)
    #expect(UInt32(EvidenceClass.device.rawValue) == PFC_CLASS_DEVICE.rawValue)
    #expect(UInt32(EvidenceClass.app.rawValue) == PFC_CLASS_APP.rawValue)
    #expect(UInt32(EvidenceClass.environment.rawValue) == PFC_CLASS_ENVIRONMENT.rawValue)
    #expect(UInt32(MeasurementPolicy.full.rawValue) == PFC_POLICY_FULL.rawValue)
    #expect(UInt32(MeasurementPolicy.incremental.rawValue) == PFC_POLICY_INCREMENTAL.rawValue)
    #expect(UInt32(MeasurementPolicy.trusting.rawValue) == PFC_POLICY_TRUSTING.rawValue)
    #expect(UInt32(TokenForm.diversified.rawValue) == PFC_FORM_DIVERSIFIED.rawValue)
    #expect(UInt32(TokenForm.literal.rawValue) == PFC_FORM_LITERAL.rawValue)
    #expect(UInt32(RatchetPolicy.report.rawValue) == PFC_RATCHET_REPORT.rawValue)
    #expect(UInt32(RatchetPolicy.refuse.rawValue) == PFC_RATCHET_REFUSE.rawValue)
    #expect(Ratchet.byteCount == Int(PFC_RATCHET_BYTES))
    let types = [
      PFC_MESSAGE_ASK, PFC_MESSAGE_CHALLENGE, PFC_MESSAGE_TOKEN, PFC_MESSAGE_COMMAND,
      PFC_MESSAGE_VERDICT, PFC_MESSAGE_ORDER, PFC_MESSAGE_RECALL, PFC_MESSAGE_STATUS,
      PFC_MESSAGE_SEALED_UP, PFC_MESSAGE_SEALED_DOWN, PFC_MESSAGE_LOG_ASK,
      PFC_MESSAGE_LOG, PFC_MESSAGE_GRANT,
    ]
    #expect(MessageType.allCases.map { UInt32($0.rawValue) } == types.map(\.rawValue))
    let verdicts = [
      PFC_VERDICT_ACCEPTED, PFC_VERDICT_ACCEPTED_DEVICE, PFC_VERDICT_HELD, PFC_VERDICT_DONE,
      PFC_VERDICT_NOT_EXECUTED, PFC_VERDICT_ACCEPTED_COPY, PFC_VERDICT_ACCEPTED_DEVICE_COPY,
      PFC_VERDICT_READY,
      PFC_VERDICT_INTEGRITY_DIFFERS, PFC_VERDICT_DEVICE_DIFFERS,
      PFC_VERDICT_STALE, PFC_VERDICT_NOT_PERMITTED, PFC_VERDICT_NO_ATTEMPTS, PFC_VERDICT_NO_USES,
      PFC_VERDICT_UNKNOWN, PFC_VERDICT_COPIED, PFC_VERDICT_NOT_FOR_ME, PFC_VERDICT_NOT_SIGNED,
      PFC_VERDICT_EXPIRED,
      PFC_VERDICT_SUPERSEDED, PFC_VERDICT_REVOKED, PFC_VERDICT_WRONG_MODE, PFC_VERDICT_NO_ROOM,
      PFC_VERDICT_TOO_NEW, PFC_VERDICT_MALFORMED, PFC_VERDICT_BUSY, PFC_VERDICT_FAULT,
    ]
    #expect(Verdict.allCases.map { UInt32($0.rawValue) } == verdicts.map(\.rawValue))
  }
}
