// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// Version 2 of the attestation's messages.
@Suite("An installation's key")
struct InstallationKeyTests {
  private let world: World
  private let point: InstallationPoint
  private let draft: BaselineDraft

  init() throws {
    world = try World()
    point = try InstallationPoint([UInt8](0..<64))
    draft = world.draft
  }

  private func question(_ hasKey: Bool, _ endorsement: Endorsement? = nil) -> AttestationQuestion {
    AttestationQuestion(
      keyID: world.key.id, device: InstanceID(of: world.evidence, account: "acme"), purpose: .token,
      configSerial: 1, account: "acme", sdkVersion: "1", hasKey: hasKey, endorsement: endorsement)
  }

  private func report(_ signer: InstallationClaim.Signer?) throws -> [UInt8] {
    try AttestationReport.make(
      .init(.token, name: "api.example.com"), of: world.evidence,
      answering: AttestationChallenge(draft, lifetime: 60, configSerial: 1), account: "acme",
      configSerial: 1, sdkVersion: "1", with: world.key, signedBy: signer
    ).bytes
  }

  @Test("leaves messages of apps without one as they were")
  func versions() throws {
    #expect(question(false).bytes[2] == 1)
    #expect(question(true).bytes == [0x50, 0x41, 2, 1] + question(false).bytes[4...] + [0])
    let plain = AttestationChallenge(draft, lifetime: 60, configSerial: 1)
    let keyed = AttestationChallenge(draft, lifetime: 60, configSerial: 1, key: .nothing)
    #expect(plain.bytes[2] == 1)
    #expect(keyed.bytes == [0x50, 0x41, 2, 2] + plain.bytes[4...] + [0])
    #expect(try report(nil)[2] == 1)
    #expect(try AttestationReport(report(nil)).key == nil)
    var answer = AttestationAnswer(to: draft.salt, .rejected).bytes(with: world.key)
    answer[2] = 5
    #expect(throws: ProofError.tooNew("attestation answer")) {
      try AttestationAnswer(answer, to: draft.salt, with: world.key)
    }
    var later = question(true).bytes
    later[2] = 4
    #expect(throws: ProofError.tooNew("attestation question")) { try AttestationQuestion(later) }
  }

  @Test("stands in questions and challenges that come back as they were sent, and not cut short")
  func roundTrips() throws {
    let endorsement = Endorsement(point, certificate: [UInt8](repeating: 3, count: 4096))
    for asked in [question(true), question(true, endorsement)] {
      #expect(try AttestationQuestion(asked.bytes) == asked)
      for count in asked.bytes.indices {
        #expect(throws: ProofError.self) { try AttestationQuestion(Array(asked.bytes[..<count])) }
      }
    }
    let longer = Endorsement(point, certificate: [UInt8](repeating: 3, count: 4097))
    #expect(throws: ProofError.self) { try AttestationQuestion(question(true, longer).bytes) }
    for size in [0, 512, 513] {
      let part = [UInt8](repeating: 1, count: size)
      for credential in [KeyCredential(object: part, seed: []), .init(object: [], seed: part)] {
        let challenge = AttestationChallenge(
          draft, lifetime: 60, configSerial: 1, key: .credential(credential))
        #expect((try? AttestationChallenge(challenge.bytes)) == (size > 512 ? nil : challenge))
      }
    }
    var unknown = AttestationChallenge(draft, lifetime: 60, configSerial: 1, key: .evidence).bytes
    unknown[unknown.count - 1] = 3
    #expect(throws: ProofError.self) { try AttestationChallenge(unknown) }
  }

  @Test("signs the whole report before the signature, under a label")
  func signedBytes() throws {
    for secret in [nil, try CredentialSecret([UInt8](repeating: 2, count: 32))] {
      for place in InstallationKeyPlace.allCases {
        let signature = try InstallationSignature([UInt8](repeating: 6, count: 64))
        var message: [UInt8] = []
        let claim = InstallationClaim(point, in: place, secret: secret)
        let bytes = try report(
          (
            claim,
            {
              message = $0; return signature
            }
          ))
        let end = bytes.count - 64 - 32
        #expect(message == Array("pfa1.install-sig".utf8) + bytes[..<end])
        let read = try AttestationReport(bytes)
        #expect(read.key == claim && read.signature == signature)
        #expect(read.signedMessage == message)
        _ = try read.measurement(under: draft, with: world.key)
        for index in end - 1..<bytes.count {
          var changed = bytes
          changed[index] ^= 0x80
          // The tag covers the signature too.
          #expect(throws: ProofError.self, "byte \(index)") {
            try AttestationReport(changed).measurement(under: draft, with: world.key)
          }
        }
      }
    }
  }

  @Test("that does not sign leaves no report")
  func refusal() throws {
    #expect(throws: ProofError.differs("signature of the installation key")) {
      try report((InstallationClaim(point, in: .storage), { _ in nil }))
    }
  }
}
