// SPDX-License-Identifier: Apache-2.0

import AccountStores
import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Numbers in the documents of an account, in its counters, and in what it draws.
@Suite struct AccountEdgeTests {
  @Test func `a new account forces no pins, and its key of salts has epoch 1`() throws {
    let bench = try Bench()
    #expect(try bench.management.configuration().forcedPinsSerial == 0)
    let stages = try AccountDocument.saltKey.needed(SaltKeyStages.self, from: bench.store)
    #expect(stages.epoch == 1)
    // Accounts of earlier versions have no epoch.
    var fields = stages.fields
    fields["epoch"] = nil
    #expect(SaltKeyStages(fields)?.epoch == 1)
  }

  @Test func `a management token has 256 random bits, in characters of a URL`() throws {
    let bench = try Bench()
    for text in [
      bench.managementToken, try bench.management.addManagementToken("t", role: .read),
      try bench.management.changeManagementToken("t"),
    ] { #expect(text.count == 43 && Base64.decode(text, .url)?.count == 32) }
  }

  @Test func `a passphrase of one character is one`() throws {
    var wrapped = try WrappedKey.wrap(secret([UInt8](repeating: 7, count: 32)), by: keyFile())
    (wrapped.kind, wrapped.passes, wrapped.memory) = ("passphrase", 1, 8_192)
    #expect(throws: ServiceError.wrongPassphrase) { _ = try wrapped.open(with: passphrase("p")) }
  }

  @Test func `an empty secret is sealed and opened as any other`() throws {
    let vault = try Bench().account.vault
    let none: [UInt8] = []
    let sealed = vault.seal(none.span, for: "place")
    #expect(sealed.count == 24 + 16)
    #expect(try vault.text(sealed, for: "place") == "")
    #expect(throws: ServiceError.damaged("place")) {
      _ = try vault.text(Array(sealed.dropLast()), for: "place")
    }
  }

  @Test func `each factory secret that is registered is counted in the factory key's document`()
    throws
  {
    let bench = try Bench()
    func written() throws -> Int64? {
      try AccountDocument.factoryKey.read(from: bench.store)?.integer("written")
    }
    func identity() throws -> HardwareIdentity {
      try HardwareKeys(
        id: .random(), secretKey: .random(count: 32), mode: .production,
        issuers: [IssuerKey.random().publicKey]
      ).identity
    }
    #expect(try written() == nil)
    for count in [1, 2] as [Int64] {
      try bench.management.addHardware(
        identity(), name: "door", factorySecret: secret([UInt8](60...91)))
      #expect(try written() == count)
    }
    try bench.management.addHardware(identity(), name: "door")
    #expect(try written() == 2)
  }

  // MARK: Counts of sealed tokens

  @Test func `a block of 4,096 counts is reserved when half of the one before is used`() throws {
    let store = MemoryStore()
    let key = TokenKey(try JSONWebKey.random(.direct), counter: "c", in: store)
    func reserved() throws -> UInt64 { try store.advance("c", by: 0) }
    #expect(try reserved() == 0)
    for number in 1...2_048 {
      _ = try key.token(Claims(expiry: 1_800_000_000))
      if [1, 2, 2_047, 2_048].contains(number) { #expect(try reserved() == 4_096, "\(number)") }
    }
    _ = try key.token(Claims(expiry: 1_800_000_000))
    #expect(try reserved() == 8_192)
  }

  /// Another version that counts under another name would begin at 0, and repeat what was counted.
  @Test func `a sealing key's counter is named by the first 16 bytes of its sealed form`() throws {
    let bench = try Bench()
    _ = try bench.management.exampleToken(for: Bench.lockAPI)
    let sealed = try #require(
      try AccountDocument.sealingKey.read(from: bench.store)?.bytes("key"))
    let name = "sealed." + Hexadecimal.encode(sealed[..<16])
    #expect(try bench.store.advance(name, by: 0) == 4_096)
  }

  // MARK: Gates

  @Test func `a revocation stands in the gate's configuration up to its last second`() throws {
    let world = try GateBench()
    _ = try world.admit(world.bench.app)
    try world.bench.management.revoke(world.bench.app.device, at: GateBench.name)
    for (seconds, count) in [(86_460, 1), (1, 0)] as [(Int64, Int)] {
      world.bench.clock.advance(by: seconds)
      #expect(try world.objects(try world.configuration()["rev"]).count == count)
    }
  }

  // MARK: Moves

  @Test func `a move has a name of 16 random bytes, which the new place keeps`() throws {
    let place = Workplace()
    func moved(_ name: String) throws -> [UInt8]? {
      let (from, to) = (place.path(of: name), place.path(of: "to-\(name)"))
      _ = try SQLiteStore(creatingAt: from)
      _ = try StoreMove(from: .file(from), to: .file(to)).move(("door", []))
      return try SQLiteArrival(to).arrived()
    }
    let (one, two) = (try moved("one"), try moved("two"))
    #expect(one?.count == 16 && two?.count == 16 && one != two)
  }

  @Test func `a device that was first seen beyond 2038 is no record that a store takes`() {
    let record = MoveRecord([
      .bytes(Spender.device(1).bytes), .number(1), .number(1), .number(Int64(Int32.max) + 1),
      .number(0), .bytes([]),
    ])
    #expect(record.fault(as: .device) == "a device with a time beyond 2038")
  }
}
