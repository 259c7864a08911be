// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

@testable import ProofService

/// Salts that another implementation made from docs/SERVICE.md, sections 4 and 8.
@Suite struct SaltVectorTests {
  private func sources(_ block: Block) throws -> [Source] {
    try block.all("source").map { line in
      let parts = line.split(separator: " ").compactMap { UInt8($0) }
      let evidenceClass = try #require(EvidenceClass(rawValue: parts[0]))
      return try Source(
        SourceID(evidenceClass, parts[1]), version: parts[2], groupsLog2: parts[3])
    }
  }

  @Test(arguments: Block.read("salt.txt", "salt"))
  func `a salt is made and authenticated as the page says`(_ block: Block) throws {
    let gate = block.bytes("gate_id")
    let asker = SaltTerms.Asker(
      keyID: try KeyID(block.bytes("key_id")), device: try InstanceID(block.bytes("device_id")),
      purpose: try #require(AttestationPurpose(rawValue: block.number("purpose"))),
      gate: gate.isEmpty ? nil : try GateID(gate))
    let terms = SaltTerms(
      asker, expiry: block.time("expiry"), generation: block.number("generation"),
      policy: try #require(MeasurementPolicy(rawValue: block.number("policy"))),
      limitLog2: block.number("limit"), withheld: CollectionMode(rawValue: block.number("mode")),
      sources: try sources(block))
    let account = String(decoding: block.bytes("account"), as: UTF8.self)
    let key = SaltKey(secret(block.bytes("key")), epoch: block.number("epoch"))
    let fields = SaltFields(terms, epoch: key.epoch, noise: block.number("noise"))
    let salt = try Salt(fields.bytes + key.tag(terms, fields, account: account))
    #expect(salt.bytes == block.bytes("salt"))
    let read = try #require(
      SaltTerms(
        of: salt, from: asker, above: terms.generation - 1, sources: { _ in terms.sources },
        under: SaltKeys(active: key, old: nil), account: account, at: terms.expiry - 60))
    #expect(read.expiry == terms.expiry && read.generation == terms.generation)
    #expect(read.policy == terms.policy && read.limitLog2 == terms.limitLog2)
    #expect(read.withheld == terms.withheld)
    let point = try InstallationPoint(block.bytes("point"))
    #expect(key.credentialSecret(salt, point).bytes == block.bytes("secret"))
  }

  @Test
  func `an end is completed to the nearest time, and the earlier one of two that are as near`()
    throws
  {
    let block = try #require(Block.read("salt.txt", "salt").first)
    let terms = SaltTerms(
      SaltTerms.Asker(
        keyID: try KeyID(block.bytes("key_id")), device: try InstanceID(block.bytes("device_id")),
        purpose: .token, gate: nil),
      expiry: 1_800_000_000, generation: 100_000, policy: .full, limitLog2: 20, withheld: [],
      sources: [])
    let fields = SaltFields(terms, epoch: 1, noise: 0)
    let half: Int64 = 1 << 18
    for distance in [1 - half, -1, 0, 1, half - 1, half] {
      #expect(fields.expiry(nearest: terms.expiry + distance) == terms.expiry, "\(distance)")
    }
    #expect(fields.expiry(nearest: terms.expiry - half) == terms.expiry - 2 * half)
    #expect(fields.expiry(nearest: terms.expiry + half + 1) == terms.expiry + 2 * half)
    #expect(fields.generation(nearest: 100_000 - 32_768) == 100_000)
    #expect(fields.generation(nearest: 100_000 - 32_769) == 34_464)
    #expect(fields.generation(nearest: 100_000 + 32_767) == 100_000)
    #expect(fields.generation(nearest: 100_000 + 32_768) == 165_536)
  }
}
