// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// The bounds of messages are those of docs/SERVICE.md and docs/SPEC.md, with the numbers written
/// out.
@Suite struct BoundsTests {
  /// docs/SERVICE.md, sections 2 to 5.
  @Test("Messages of an attestation have the bounds of the page")
  func attestation() {
    #expect(AttestationWire.textMax == 1_024 && AttestationWire.messageMax == 1_048_576)
    #expect(AttestationWire.payloadMax == 65_536 && AttestationWire.customPayloadMax == 40_000)
    #expect(AttestationWire.tokenMax == 262_144 && AttestationWire.configMax == 684)
    #expect(AttestationWire.userPropertyMax == 128 && AttestationWire.propertiesMax == 64)
    #expect(AttestationWire.recordsMax == 65_536 && AttestationWire.recordMin == 5)
    #expect(AttestationWire.stringKeysMax == 2 && AttestationWire.handoversMax == 8)
    #expect(Endorsement.certificateMax == 4_096 && KeyCredential.partMax == 512)
  }

  /// docs/SERVICE.md, sections 3 to 5, 8, 9, 11, 12 and 13.
  @Test("Messages of an attestation have the versions and numbers of the page")
  func versions() {
    #expect(AttestationWire.magic == [0x50, 0x41])
    #expect(AttestationWire.version == 1 && AttestationWire.keyVersion == 2)
    #expect(AttestationWire.collectionVersion == 3 && AttestationWire.admissionVersion == 2)
    #expect(AttestationWire.stringVersion == 3 && AttestationWire.upcomingVersion == 4)
    let kinds: [AttestationWire.Kind] = [.question, .challenge, .report, .answer]
    #expect(kinds.map(\.rawValue) == [1, 2, 3, 4])
    let purposes: [AttestationPurpose] = [
      .token, .measurement, .secureString, .customJWT, .gate, .stringKey,
    ]
    #expect(purposes.map(\.rawValue) == [1, 2, 3, 4, 5, 6])
    #expect(InstallationKeyPlace.storage.rawValue == 1 && InstallationKeyPlace.tpm.rawValue == 2)
    #expect(CollectionMode.withoutBasicFacts.rawValue == 1)
    #expect(CollectionMode.withoutUniqueIdentifiers.rawValue == 2)
    #expect(CollectionMode.withoutExtras.rawValue == 4)
    #expect(InstanceID.secretSource == 5 && AppDigest.sources == 2...3)
    let outcomes: [AttestationAnswer.Outcome] = [
      .done, .unknownDomain, .unprotectedDomain, .rejected, .disabled, .unknownKey, .badKey,
      .badPayload, .askAgain, .unbelievable, .notEncrypted, .noGate,
    ]
    #expect(outcomes.map(\.rawValue) == [UInt8](1...12))
  }

  /// docs/SPEC.md, section 2, the table of limits.
  @Test("Names, keys and digests have the bytes of SPEC")
  func names() {
    let sixteen = [
      MeasurementProofKey.byteCount, ProofNonce.byteCount, Salt.byteCount, HardwareID.byteCount,
      InstanceID.byteCount, TokenDigest.byteCount, Ratchet.byteCount, GateID.byteCount,
      AudienceID.byteCount, GateHandle.byteCount, HardwareLogNonce.byteCount,
    ]
    #expect(sixteen.allSatisfy { $0 == 16 })
    let thirtyTwo = [
      Digest.byteCount, Measurement.byteCount, Proof.byteCount, Challenge.byteCount,
      HardwarePublicKey.byteCount, IssuerPublicKey.byteCount, AppDigest.byteCount,
      StringKey.byteCount, MessageKey.byteCount,
    ]
    #expect(thirtyTwo.allSatisfy { $0 == 32 })
    #expect(KeyID.byteCount == 8 && IssuerID.byteCount == 8)
    #expect(InstallationPoint.byteCount == 64 && InstallationSignature.byteCount == 64)
    #expect(StringKey.Sealed.tagByteCount == 16 && CoreStringSeal.nonceByteCount == 24)
    #expect(CoreStringSeal.tagByteCount == 16 && StringKey.placeByteCount == 16)
    #expect(CoreAEAD.addedByteCount == 40)
    #expect(MeasurementConfig.byteCountMax == 684)
  }

  /// docs/SPEC.md, section 16: the tables of a challenge, a clearance and a ticket.
  @Test("Fields of a gate's texts stand where SPEC puts them")
  func gateTexts() {
    #expect(ClearanceWire.byteCount == 66 && ClearanceWire.characterCount == 88)
    #expect(ClearanceWire.head == 0x1A && ClearanceWire.appFlag == 1)
    #expect(ClearanceWire.workLevelMask == 31 && ClearanceWire.workLevelBits == 5)
    let clearance = [
      ClearanceWire.keyAt, ClearanceWire.kindsAt, ClearanceWire.levelsAt, ClearanceWire.flagsAt,
      ClearanceWire.expiryAt, ClearanceWire.startAt, ClearanceWire.serialAt,
      ClearanceWire.hostAt, ClearanceWire.holderAt, ClearanceWire.tagAt,
    ]
    #expect(clearance == [1, 2, 3, 4, 6, 10, 14, 18, 34, 50])
    #expect(ChallengeWire.byteCount == 60 && ChallengeWire.characterCount == 80)
    #expect(ChallengeWire.version == 1)
    let challenge = [
      ChallengeWire.keyAt, ChallengeWire.levelAt, ChallengeWire.expiryAt, ChallengeWire.routeAt,
      ChallengeWire.nonceAt, ChallengeWire.bindingAt, ChallengeWire.tagAt,
    ]
    #expect(challenge == [1, 2, 4, 8, 12, 28, 44])
    #expect(GateGrant.ticketByteCount == 148)
  }

  /// docs/SERVICE.md, section 9, and docs/SPEC.md, sections 15 and 16.
  @Test("Admissions, puzzles and compact tokens have the bounds of the pages")
  func gates() {
    #expect(GateAdmission.lives == 1...86_400 && GateAdmission.freshnesses == 0...10)
    #expect(GateAdmission.hostCountMax == 64 && GateAdmission.eventCountMax == 256)
    #expect(GateAdmission.headerMax == 64 && GateAdmission.hostMax == 253)
    #expect(GateAdmission.byteCountMax == 32_768)
    let forms: [GateAdmission.Form] = [.standard, .compact, .body]
    #expect(forms.map(\.rawValue) == [1, 2, 3])
    #expect(CorePuzzle.puzzleLevels == 1...24 && CorePuzzle.puzzleSolution == 64)
    #expect(CorePuzzle.pairingLevels == 1...7 && CorePuzzle.pairingSolution == 42)
    #expect(CompactToken.window == 60)
    let compact: [CompactKind] = [.request, .body, .event]
    #expect(compact.map(\.rawValue) == [1, 2, 3])
    #expect(CompactCause.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6])
    #expect(ReplayKey.byteCount == 24)
    #expect(HardwareLogEntry.Event.allCases.map(\.rawValue) == [1, 2, 3, 4, 5])
    #expect(UpcomingPair.countMax == 3)
  }

  /// docs/SPEC.md, section 15, *Answers to a client*, and docs/REASONS.md.
  @Test("A gate's refusals have the numbers of SPEC")
  func refusals() {
    let refusals: [(GateRefusal, UInt8)] = [
      (.tokenLength, 1), (.tokenMagic, 2), (.tokenVersion, 3), (.tokenGate, 4), (.tokenKey, 5),
      (.tokenSeal, 6), (.tokenIssuer, 7), (.tokenSignature, 8), (.tokenMode, 9),
      (.tokenForm, 10), (.tokenRange, 11), (.tokenLife, 12), (.tokenAhead, 13),
      (.tokenExpired, 14), (.tokenSuperseded, 15), (.tokenRevoked, 16), (.text, 32),
      (.compactLength, 33), (.compactVersion, 34), (.compactKind, 35), (.errorState, 36),
      (.handle, 37), (.tag, 48), (.otherAccount, 49), (.otherBody, 50), (.otherRequest, 51),
      (.otherData, 52), (.reserved, 64), (.generation, 65), (.event, 66), (.ahead, 67),
      (.stale, 68), (.unanchored, 69), (.measured, 70), (.kept, 71), (.replayed, 72),
    ]
    for (refusal, number) in refusals { #expect(refusal.rawValue == number, "\(refusal)") }
    let kinds: [GateRefusal.Kind] = [.token, .clock, .proof, .refused]
    #expect(kinds.map(\.rawValue) == [1, 2, 3, 4])
  }

  /// docs/SPEC.md, sections 2, 8 and 10.
  @Test("Messages, verdicts, modes and kinds have the numbers of SPEC")
  func wire() {
    #expect(MessageType.allCases.map(\.rawValue) == [UInt8](1...13))
    #expect(
      Verdict.allCases.map(\.rawValue)
        == [UInt8](1...8) + [UInt8](16...23) + [UInt8](32...39) + [48, 49, 50])
    #expect(Mode.production.rawValue == 1 && Mode.development.rawValue == 2)
    #expect(ProofKind.integrity.rawValue == 1 && ProofKind.device.rawValue == 2)
    #expect(TokenForm.diversified.rawValue == 1 && TokenForm.literal.rawValue == 2)
    #expect(TokenVersion.one.rawValue == 1 && TokenVersion.two.rawValue == 2)
    #expect(RatchetPolicy.report.rawValue == 1 && RatchetPolicy.refuse.rawValue == 2)
    let classes: [EvidenceClass] = [.device, .app, .environment]
    #expect(classes.map(\.rawValue) == [1, 2, 3])
    let policies: [MeasurementPolicy] = [.full, .incremental, .trusting]
    #expect(policies.map(\.rawValue) == [1, 2, 3])
  }

  /// docs/SPEC.md, sections 2, 10, 11, 17, 18 and 20.
  @Test("Lengths of the wire are those of SPEC")
  func lengths() {
    #expect(CoreWire.challengeMessage == 40 && CoreWire.sealedChallenge == 72)
    #expect(CoreWire.commandHead == 26 && CoreWire.commandIntegrity == 90)
    #expect(CoreWire.commandRatchet == 12 && CoreWire.commandMax == 256)
    #expect(CoreWire.messageMax == 358 && CoreWire.verdictMessage == 43)
    #expect(CoreWire.recall == 72 && CoreWire.status == 28)
    #expect(CoreWire.sealedDevice == 110 && CoreWire.sealedIntegrity == 142)
    #expect(CoreWire.sealedCommandMax == 216 && CoreWire.channelCommand == 25)
    #expect(CoreWire.packets == 20...514 && CoreWire.recordMax == 232)
    #expect(CoreWire.token == 288 && CoreWire.gateToken == 288 && CoreWire.order == 124)
    #expect(CoreWire.configMax == 684 && CoreWire.sourcesMax == 24)
    #expect(CoreWire.leavesMax == 128 && CoreWire.groupsLog2Max == 6)
    #expect(CoreWire.limitsLog2 == 16...50 && CoreWire.nameMax == 255)
    #expect(CoreWire.gateLife == 86_400 && CoreWire.gateKeysMax == 2)
    #expect(CoreWire.compactText == 88 && CoreWire.beaconHead == 0x14)
    #expect(CoreWire.accountMax == 128 && CoreWire.challengeID == 60)
    #expect(CoreWire.findingsMax == 16 && CoreWire.gateApp == 16)
  }
}
