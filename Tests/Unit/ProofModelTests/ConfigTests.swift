// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A measurement configuration")
struct ConfigTests {
  @Test("says what the service decided")
  func fields() throws {
    let world = try World()
    let config = world.config
    #expect(config.mode == .production)
    #expect(config.policy == .full)
    #expect(config.generation == 1)
    #expect(config.salt == world.draft.salt)
    #expect(config.keyID == world.key.id)
    #expect(config.sources == world.draft.sources)
    #expect(config.byteCountLimit == 1 << 33)
    #expect(config.leafCount == 1 + 1 + 16 + 4 + 1)
    #expect(config.bytes.count == 76 + 4 * 5 + 4 * 23)
  }

  @Test("comes back from its bytes")
  func roundTrip() throws {
    let config = try World().config
    let again = try MeasurementConfig(config.bytes)
    #expect(again == config)
    #expect(Set([again, config]).count == 1)
    #expect(config.description.contains("generation 1"))
  }

  @Test("with any one bit changed is damaged or foreign, never read")
  func flippedBit() throws {
    let bytes = try World().config.bytes
    for bit in 0..<8 * bytes.count {
      #expect(
        throws: bit < 32
          ? ProofError.configForeign(byteCount: bytes.count)
          : ProofError.configDamaged(byteCount: bytes.count)
      ) { try MeasurementConfig(flipped(bytes, bit: bit)) }
    }
  }

  @Test("cut anywhere, or with more behind it, is damaged")
  func cut() throws {
    let bytes = try World().config.bytes
    for count in 0..<bytes.count {
      #expect(throws: ProofError.configDamaged(byteCount: count)) {
        try MeasurementConfig(Array(bytes.prefix(count)))
      }
    }
    for more in [1, 16, 600] {
      #expect(throws: ProofError.configDamaged(byteCount: bytes.count + more)) {
        try MeasurementConfig(bytes + [UInt8](repeating: 0, count: more))
      }
    }
  }

  @Test("that is another file is foreign")
  func foreign() {
    let bytes = Array("#!/bin/sh\nexit 0\n".utf8)
    #expect(throws: ProofError.configForeign(byteCount: bytes.count)) {
      try MeasurementConfig(bytes)
    }
  }

  @Test("finds its sources, and the group of a record")
  func groups() throws {
    let world = try World()
    #expect(try world.config.source(SourceID(.app, 7))?.version == 3)
    #expect(try world.config.source(SourceID(.app, 8)) == nil)
    let groups = world.evidence.records.compactMap { world.config.group(of: $0) }
    #expect(groups.count == world.evidence.records.count)
    #expect(Set(groups).isSubset(of: 0..<world.config.leafCount))
    let stranger = try EvidenceRecord(SourceID(.app, 8), name: "x", digest: nil)
    #expect(world.config.group(of: stranger) == nil)
  }

  @Test("knows the key it was made for, and tells another key from another mode")
  func check() throws {
    let world = try World()
    #expect(throws: Never.self) { try world.config.check(world.key) }
    let other = try MeasurementProofKey(.random(count: 16), mode: .production)
    #expect(throws: ProofError.configForOtherKey(config: world.key.id, key: other.id)) {
      try world.config.check(other)
    }
    let sameBytes = try MeasurementProofKey(
      world.key.withBytes { SecretBytes(copying: $0) },
      mode: .development)
    #expect(throws: ProofError.configForOtherMode(config: .production, key: .development)) {
      try world.config.check(sameBytes)
    }
  }
}

@Suite("A baseline's draft")
struct BaselineDraftTests {
  let salt = Salt.random()

  @Test("sorts its sources")
  func sorts() throws {
    let draft = try BaselineDraft(salt: salt, sources: World.sources().reversed())
    #expect(draft.sources == (try World.sources()))
  }

  @Test("without a device source, or without an app source, is refused")
  func classes() throws {
    let device = try Source(SourceID(.device, 1))
    let app = try Source(SourceID(.app, 1))
    let environment = try Source(SourceID(.environment, 1))
    for sources in [[device], [app], [device, environment], [app, environment]] {
      #expect(throws: ProofError.self) { try BaselineDraft(salt: salt, sources: sources) }
    }
    #expect(throws: Never.self) { try BaselineDraft(salt: salt, sources: [device, app]) }
  }

  @Test("has 1 to 24 sources, each once, with at most 128 groups")
  func bounds() throws {
    let device = try Source(SourceID(.device, 1))
    let apps = try (1...24).map { try Source(SourceID(.app, UInt8($0))) }
    #expect(throws: ProofError.self) { try BaselineDraft(salt: salt, sources: []) }
    #expect(throws: Never.self) {
      try BaselineDraft(salt: salt, sources: [device] + apps.prefix(23))
    }
    #expect(throws: ProofError.self) { try BaselineDraft(salt: salt, sources: [device] + apps) }
    #expect(throws: ProofError.self) {
      try BaselineDraft(salt: salt, sources: [device, apps[0], apps[0]])
    }
    let wide = try (1...3).map { try Source(SourceID(.app, UInt8($0)), groupsLog2: 6) }
    #expect(throws: ProofError.self) {
      try BaselineDraft(salt: salt, sources: [device] + wide.prefix(2))
    }
    #expect(throws: Never.self) {
      try BaselineDraft(salt: salt, sources: [device, wide[0]])
    }
  }

  @Test("has a generation and a limit within their ranges")
  func numbers() throws {
    let sources = try World.sources()
    for generation: UInt32 in [0, .max] {
      #expect(throws: ProofError.self) {
        try BaselineDraft(salt: salt, sources: sources, generation: generation)
      }
    }
    for limit: UInt8 in [0, 15, 51, 255] {
      #expect(throws: ProofError.self) {
        try BaselineDraft(salt: salt, sources: sources, limitLog2: limit)
      }
    }
    let edge = try BaselineDraft(
      salt: salt, sources: sources, policy: .incremental, generation: .max - 1, limitLog2: 50)
    let key = try MeasurementProofKey(.random(count: 16), mode: .development)
    let config = try MeasurementConfig(baseline: World.evidence(), edge, with: key)
    #expect(config.generation == UInt32.max - 1)
    #expect(config.policy == .incremental)
    #expect(config.byteCountLimit == 1 << 50)
    #expect(config.mode == .development)
  }

  @Test("asks for sources with a version and at most 64 groups")
  func sources() throws {
    let id = try SourceID(.app, 1)
    #expect(throws: ProofError.self) { try Source(id, version: 0) }
    #expect(throws: ProofError.self) { try Source(id, groupsLog2: 7) }
    #expect(try Source(id, groupsLog2: 6).groupCount == 64)
  }
}
