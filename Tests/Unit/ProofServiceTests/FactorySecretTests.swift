// SPDX-License-Identifier: Apache-2.0

import OwnThreads
import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct FactorySecretTests {
  private static let drawn = [UInt8](60...91)
  private static let withSecret: HardwareFeatures = [.tokenVersionTwo, .factorySecret]
  private let identity: HardwareIdentity

  init() throws { identity = try Self.lock() }

  private static func lock() throws -> HardwareIdentity {
    try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production,
      issuers: [IssuerKey.random().publicKey]
    ).identity
  }

  private func registry(_ bench: Bench) throws -> AccountHardware {
    try AccountHardware(
      in: bench.store, factoryKey: FactoryKey(bench.management.factoryKey()))
  }

  /// Whether hardware with this factory secret opens a token that is sealed with that one.
  private func opens(_ secret: FactorySecret, _ drawn: [UInt8]) throws -> Bool {
    let issuer = IssuerKey.random()
    let keys = try HardwareKeys(
      id: secret.hardware, secretKey: .random(count: 32), mode: .production,
      issuers: [issuer.publicKey],
      factory: FactorySecret(of: secret.hardware, drawn: SecretBytes(copying: drawn.span)))
    let secrets = try HardwareSecrets(
      integrityKey: .random(count: 16), integrity: .random(count: 32),
      deviceKey: .random(count: 16), device: .random(count: 32), form: .diversified)
    let token = try MeasurementGrant(
      for: secret.hardware, instance: InstanceID([UInt8](repeating: 7, count: 16)),
      mode: .production, integrityClasses: .all, attempts: 1, uses: .unlimited, generation: 1,
      issued: 1, secrets: secrets, version: .two
    ).sealed(to: keys.identity, with: secret, signedBy: issuer)
    return (try? keys.open(token)) != nil
  }

  @Test func `a registered factory secret opens for a backend with the factory key alone`() throws {
    let bench = try Bench()
    let added = try bench.management.addHardware(
      identity, name: "door", factorySecret: secret(Self.drawn))
    #expect(added.features == Self.withSecret)
    let opened = try #require(try registry(bench).factorySecret(of: added))
    #expect(opened.hardware == identity.id)
    #expect(try opens(opened, Self.drawn))
    #expect(try !opens(opened, [UInt8](61...92)))
    #expect(try AccountHardware(in: bench.store).factorySecret(of: added) == nil)
    let other = try AccountHardware(
      in: bench.store, factoryKey: FactoryKey(secret([UInt8](repeating: 1, count: 32))))
    #expect(throws: BackendError.self) { try other.factorySecret(of: added) }
    #expect(throws: ServiceError.self) { try FactoryKey(secret([UInt8](1...31))) }
  }

  @Test func `no row, list or refusal has a factory secret in it, in any form`() throws {
    let bench = try Bench()
    let management = bench.management
    let text = JSONValue.string(Base64.encode(Self.drawn))
    let id = JSONValue.string(identity.id.description)
    var answers = [
      try management.perform(
        "hardware/add",
        ["id": id, "publicKey": .string(identity.publicKey.description), "factorySecret": text]),
      try management.perform("hardware/change", ["id": id, "factorySecret": text]),
      try management.perform("hardware/list"),
      try management.perform("hardware/sealed-secret", ["id": id]),
    ]
    let sealed = try #require(try management.hardware(identity.id).sealedFactorySecret)
    let shown = answers.dropLast().map(\.text)
    #expect(!shown.contains { $0.contains(Base64.encode(sealed).prefix(12)) })
    for wrong in [Self.drawn.dropLast() + [], Self.drawn + [1], [UInt8](repeating: 0, count: 32)] {
      for argument in [Base64.encode(wrong), Base64.encode(wrong) + "?"] {
        #expect(throws: ServiceError.self) {
          do {
            _ = try management.perform(
              "hardware/change", ["id": id, "factorySecret": .string(argument)])
          } catch {
            answers.append(.string("\(error)"))
            throw error
          }
        }
      }
    }
    var places = answers.map { Array($0.text.utf8) }
    for table in StoreTable.allCases {
      places += try bench.store.rows(of: table).map(\.value)
    }
    let key = try management.factoryKey().withBytes { Array(copying: $0) }
    for needle in [Self.drawn, key] {
      let window = Array(needle.prefix(12))
      let forms = [
        window, Array(Base64.encode(window).utf8), Array(Hexadecimal.encode(window).utf8),
      ]
      for place in places {
        for form in forms {
          let starts = place.indices.dropLast(min(place.count, form.count - 1))
          #expect(!starts.contains { place[$0...].starts(with: form) })
        }
      }
    }
    #expect(!places.contains { $0.isEmpty })
  }

  @Test func `a sealed secret that was moved to other hardware, or changed, does not open`() throws
  {
    let bench = try Bench()
    let added = try bench.management.addHardware(
      identity, name: "door", factorySecret: secret(Self.drawn))
    let sealed = try #require(added.sealedFactorySecret)
    let key = try FactoryKey(bench.management.factoryKey())
    _ = try key.open(sealed, of: identity.id)
    #expect(throws: ServiceError.self) { try key.open(sealed, of: .random()) }
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: ServiceError.self) { try key.open(changed, of: identity.id) }
    }
    #expect(throws: ServiceError.self) { try key.open([], of: identity.id) }
  }

  @Test func `a registration gains features and never loses one`() throws {
    let bench = try Bench()
    let management = bench.management
    let id = identity.id
    #expect(try management.addHardware(identity, name: "door").features == [])
    let two = HardwareFeatures.tokenVersionTwo
    #expect(try management.changeHardware(id, adding: two).features == two)
    #expect(try management.changeHardware(id, adding: []).features == two)
    #expect(throws: ServiceError.self) {
      try management.changeHardware(id, adding: .factorySecret)
    }
    let changed = try management.changeHardware(
      id, adding: [], factorySecret: secret(Self.drawn))
    #expect(changed.features == Self.withSecret && changed.name == "door")
    #expect(try management.changeHardware(id, adding: []) == changed)
    let replaced = try management.changeHardware(
      id, adding: [], factorySecret: secret([UInt8](61...92)))
    let opened = try #require(try registry(bench).factorySecret(of: replaced))
    #expect(try opens(opened, [UInt8](61...92)))
    try management.revokeHardware(id)
    #expect(try management.hardware(id).sealedFactorySecret == replaced.sealedFactorySecret)
    #expect(throws: ServiceError.self) { try management.changeHardware(.random(), adding: []) }
  }

  @Test func `hardware of literal tokens has no factory secret`() throws {
    let bench = try Bench()
    #expect(throws: ServiceError.self) {
      try bench.management.addHardware(
        identity, allowsLiteral: true, name: "door", factorySecret: secret(Self.drawn))
    }
    #expect(try bench.management.hardware().isEmpty)
    try bench.management.addHardware(identity, allowsLiteral: true, name: "door")
    #expect(throws: ServiceError.self) {
      try bench.management.changeHardware(
        identity.id, adding: [], factorySecret: secret(Self.drawn))
    }
  }

  @Test func `a row of an earlier version has no features, an earlier account gets a key`() throws {
    let bench = try Bench()
    let added = try bench.management.addHardware(identity, name: "door")
    guard case .object(var fields) = try JSONValue(parsing: added.bytes.span) else { return }
    fields["features"] = nil
    let row = Array(JSONValue.object(fields).text.utf8)
    try bench.store.apply([
      .put(.hardware, added.key, row), .remove(.account, AccountDocument.factoryKey.rawValue),
    ])
    #expect(try bench.management.hardware(identity.id) == added)
    let account = try Account.open(in: bench.store, with: keyFile())
    let management = Management(account, clock: bench.clock.clock)
    let changed = try management.changeHardware(
      identity.id, adding: [], factorySecret: secret(Self.drawn))
    #expect(try registry(bench).factorySecret(of: changed) != nil)
    // The key outlasts another lock of the account.
    try account.relock(with: keyFile(9))
    let reopened = try Account.open(in: bench.store, with: keyFile(9))
    let key = try FactoryKey(Management(reopened).factoryKey())
    _ = try key.open(try #require(changed.sealedFactorySecret), of: identity.id)
  }

  @Test func `a factory key that others know is replaced, and opens nothing any more`() throws {
    let bench = try Bench()
    let management = bench.management
    let locks = try (0..<3).map { _ in try Self.lock() }
    for (lock, drawn) in zip(locks, [Self.drawn, [UInt8](61...92)]) {
      try management.addHardware(lock, name: "door", factorySecret: secret(drawn))
    }
    let plain = try management.addHardware(locks[2], name: "door")
    let old = try registry(bench)
    try management.replaceFactoryKey()
    let new = try registry(bench)
    for (lock, drawn) in zip(locks, [Self.drawn, [UInt8](61...92)]) {
      let hardware = try management.hardware(lock.id)
      #expect(hardware.features == Self.withSecret)
      #expect(throws: BackendError.self) { try old.factorySecret(of: hardware) }
      #expect(try opens(#require(try new.factorySecret(of: hardware)), drawn))
    }
    #expect(try management.hardware(locks[2].id) == plain)
  }

  @Test func `secrets that are registered while the key is replaced open under the last key`()
    throws
  {
    let bench = try Bench()
    let management = bench.management
    let locks = try (0..<24).map { _ in try Self.lock() }
    onThreads(4) { thread in
      for (index, lock) in locks.enumerated() where index % 3 == thread {
        _ = try? management.addHardware(
          lock, name: "door", factorySecret: secret(Self.drawn))
      }
      guard thread == 3 else { return }
      for _ in 0..<40 { try? management.replaceFactoryKey() }
    }
    let registry = try registry(bench)
    for lock in locks {
      let hardware = try management.hardware(lock.id)
      #expect(try opens(#require(try registry.factorySecret(of: hardware)), Self.drawn))
    }
  }

  @Test func `features are known words, each once`() throws {
    let bench = try Bench()
    let words = [
      "token-2", "ratchet", "sealed", "log", "grants", "factory-secret", "upcoming", "channels",
    ]
    #expect(HardwareFeatures.known.words == words)
    #expect(HardwareFeatures(words: HardwareFeatures.known.words) == .known)
    #expect(HardwareFeatures.known.rawValue == 0xFF)
    for words: [JSONValue] in [["x"], ["token-2", "token-2"], [""], ["factory-secret"]] {
      #expect(throws: ServiceError.self) {
        _ = try bench.management.perform(
          "hardware/add",
          [
            "id": .string(identity.id.description), "features": .array(words),
            "publicKey": .string(identity.publicKey.description),
          ])
      }
    }
    #expect(try bench.management.hardware().isEmpty)
  }
}
