// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE
import ProofKitKeys
import ProofModel
import Testing

@testable import ProofService

/// The service and installation keys. Tests/Process/Backend has those in TPMs.
@Suite struct InstallationKeyTests {
  /// A key in a folder of its own.
  private final class Place {
    let path = NSTemporaryDirectory() + "key-\(UUID().uuidString)"
    lazy var key = StoredInstallationKey(folder: path)

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func signer(
      _ place: InstallationKeyPlace = .storage, secret: CredentialSecret? = nil,
      signs: @escaping ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> InstallationClaim.Signer {
      let key = key
      return (
        InstallationClaim(try key.identity().point, in: place, secret: secret),
        { try? key.signature(of: signs($0)) }
      )
    }
  }

  private func attest(
    _ bench: Bench, _ signer: InstallationClaim.Signer?
  ) throws -> AttestationAnswer {
    let challenge = try bench.challenge(bench.app)
    let report = try bench.app.report(
      .init(.token, name: Bench.api), answering: challenge, signedBy: signer)
    return try bench.send(report, challenge.draft.salt, bench.app)
  }

  private func seen(_ bench: Bench, _ signer: InstallationClaim.Signer?) throws -> [String] {
    let answer = try attest(bench, signer)
    #expect(answer.outcome == .done)
    let device = try #require(try bench.management.devices().first)
    #expect(
      device.note.flag("passed")
        == (device.note.texts("properties")?.contains { $0.hasPrefix("installation") } == false))
    return (device.note.texts("properties") ?? []).filter { $0.hasPrefix("installation-key") }
  }

  @Test func `a challenge has the version of its question`() throws {
    let bench = try Bench()
    for hasKey in [false, true] {
      let response = bench.post("/v1/challenge", bench.app.question(hasKey: hasKey).bytes)
      #expect(response.body[2] == (hasKey ? 2 : 1))
      #expect(try AttestationChallenge(response.body).key == (hasKey ? .nothing : nil))
    }
  }

  @Test func `a signature over anything but this report is not believed`() throws {
    let bench = try Bench()
    let place = Place()
    let others: [@Sendable ([UInt8]) -> [UInt8]] = [
      { Array($0.dropFirst(16)) }, { Array($0.dropLast()) }, { $0 + [0] },
      { [$0[0] ^ 1] + $0.dropFirst() }, { _ in [] },
    ]
    for other in others {
      #expect(try attest(bench, place.signer(signs: other)).outcome == .unbelievable)
    }
    #expect(try seen(bench, place.signer()) == [])
    // Another key's signature under this one's name.
    let (claim, _) = try place.signer()
    let (_, sign) = try Place().signer()
    #expect(try attest(bench, (claim, sign)).outcome == .unbelievable)
    // Bytes that are no point of the curve.
    let nowhere = InstallationClaim(
      try InstallationPoint([UInt8](repeating: 1, count: 64)), in: .storage)
    #expect(try attest(bench, (nowhere, sign)).outcome == .unbelievable)
  }

  @Test func `a signature to one challenge answers no other`() throws {
    let bench = try Bench()
    let place = Place()
    var kept: InstallationSignature?
    let (claim, sign) = try place.signer()
    _ = try attest(
      bench,
      (
        claim,
        {
          kept = sign($0); return kept
        }
      ))
    #expect(kept != nil)
    #expect(try attest(bench, (claim, { _ in kept })).outcome == .unbelievable)
  }

  @Test func `a device is held to the key that it showed first`() throws {
    let bench = try Bench()
    let (own, other) = (Place(), Place())
    #expect(try seen(bench, nil) == [], "before it has a key")
    #expect(try seen(bench, own.signer()) == [])
    #expect(try seen(bench, other.signer()) == ["installation-key-changed"])
    #expect(try seen(bench, nil) == ["installation-key-missing"])
    #expect(try seen(bench, own.signer()) == [], "what the others tried took nothing from it")
  }

  @Test func `the rule rejects whatever the setting rejection says`() throws {
    for (rule, unsigned, stored) in [
      ("any", [], []), ("signed", ["installation-key-missing"], []),
      ("hardware", ["installation-key-missing"], ["installation-key-unproved"]),
    ] as [(String, [String], [String])] {
      let policy: [PolicySetting: String] = [.installationKey: rule, .rejection: "none"]
      #expect(try seen(Bench(policy: policy), nil) == unsigned, "\(rule)")
      #expect(try seen(Bench(policy: policy), Place().signer()) == stored, "\(rule)")
      #expect(try seen(Bench(policy: policy), Place().signer(.tpm)) == stored, "\(rule)")
      let invented = try CredentialSecret([UInt8](repeating: 7, count: 32))
      #expect(
        try seen(Bench(policy: policy), Place().signer(.tpm, secret: invented)) == stored,
        "\(rule), with a secret that the service did not give")
    }
  }

  @Test func `a credential is proved by its secret, with its key, under its salt`() throws {
    let key = SaltKey(secret([UInt8](repeating: 1, count: 32)), epoch: 1)
    let other = SaltKey(secret([UInt8](repeating: 2, count: 32)), epoch: 1)
    let (salt, point) = (Salt.random(), try InstallationPoint([UInt8](repeating: 3, count: 64)))
    let proof = key.credentialSecret(salt, point)
    func claim(_ point: InstallationPoint, _ secret: CredentialSecret?) -> InstallationClaim {
      InstallationClaim(point, in: .tpm, secret: secret)
    }
    #expect(key.isProved(claim(point, proof), under: salt))
    #expect(!key.isProved(claim(point, nil), under: salt))
    #expect(!key.isProved(claim(point, proof), under: .random()))
    #expect(!other.isProved(claim(point, proof), under: salt))
    let invented = try CredentialSecret([UInt8](repeating: 5, count: 32))
    #expect(!key.isProved(claim(point, invented), under: salt))
    let another = try InstallationPoint([UInt8](repeating: 5, count: 64))
    #expect(!key.isProved(claim(another, proof), under: salt))
  }

  @Test func `the evidence that was shown decides the place of a key`() throws {
    let point = try InstallationPoint([UInt8](repeating: 3, count: 64))
    func kind(
      _ place: InstallationKeyPlace, isProved: Bool = false, known: InstallationKeyNote.Kind? = nil
    ) -> (InstallationKeyNote.Kind?, [String]) {
      let sighting = InstallationKeySighting(
        InstallationClaim(point, in: place), isProved: isProved,
        known: known.map { InstallationKeyNote(point, $0, since: 5) }, under: .hardware, at: 9)
      #expect(sighting.note?.since == (known == nil ? 9 : 5))
      return (sighting.note?.kind, sighting.properties.names)
    }
    let unproved = ["installation-key-unproved"]
    #expect(kind(.storage) == (.storage, unproved))
    #expect(kind(.tpm) == (.unproved, unproved))
    #expect(kind(.tpm, isProved: true) == (.tpm, []))
    #expect(kind(.tpm, known: .unproved) == (.unproved, unproved))
    #expect(kind(.tpm, known: .tpm) == (.tpm, []), "evidence once shown holds")
    #expect(kind(.tpm, isProved: true, known: .storage) == (.tpm, []))
  }

  @Test func `a device's row keeps its key, and rows of earlier versions have none`() throws {
    let point = try InstallationPoint([UInt8](0..<64))
    var note = try #require(DeviceNote(Array(#"{"passed":true,"machines":[]}"#.utf8)))
    #expect(note.key == nil)
    note.key = InstallationKeyNote(point, .tpm, since: 1_900_000_000)
    let read = try #require(DeviceNote(note.bytes))
    #expect(read.key == note.key)
    #expect(read.bytes == note.bytes)
    for damaged in [#"{}"#, #"{"point":"AA==","kind":"tpm","since":1}"#] {
      // Read as if there were no key, it would be an installation that has lost its key.
      #expect(DeviceNote(Array(#"{"machines":[],"key":\#(damaged)}"#.utf8)) == nil)
    }
  }

  @Test func `evidence is asked for only where the policy wants it and an authority is known`()
    throws
  {
    let question = try Bench().app.question(hasKey: true)
    for rule in InstallationKeyRule.allCases {
      let bench = try Bench(policy: [.installationKey: rule.rawValue])
      let response = bench.post("/v1/challenge", question.bytes)
      #expect(try AttestationChallenge(response.body).key == .nothing, "no authority is known")
      let endorsement = Endorsement(
        try InstallationPoint([UInt8](repeating: 2, count: 64)), certificate: [0x30, 0])
      let endorsed = bench.post(
        "/v1/challenge", bench.app.question(hasKey: true, endorsement: endorsement).bytes)
      #expect(try AttestationChallenge(endorsed.body).key == .nothing)
    }
  }

  @Test func `authorities that are none are refused`() {
    for pem in ["", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
      #expect(throws: TPMAuthorities.Refusal.self) {
        try TPMAuthorities(pem: Array(pem.utf8), path: "authorities.pem")
      }
    }
  }
}
