// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Rows of an account that no version writes: each reading names the row, and makes no key of it.
@Suite struct AccountDamageTests {
  private let drawn = [UInt8](60...91)
  private let identity: HardwareIdentity

  init() throws {
    identity = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production,
      issuers: [IssuerKey.random().publicKey]
    ).identity
  }

  /// Puts a key of this many bytes into a document, sealed as it should be.
  private func put(_ count: Int, _ document: AccountDocument, _ bench: Bench) throws {
    let key = [UInt8](repeating: 7, count: count)
    var fields = try document.read(from: bench.store) ?? ["id": "k"]
    fields.set("key", bench.account.vault.seal(key.span, for: document.rawValue))
    try bench.store.apply([document.put(fields)])
  }

  @Test(arguments: [AccountDocument.stringKey, .saltKey, .messageKey])
  func `a key of another length than 32 bytes is damage to its document`(
    _ document: AccountDocument
  ) throws {
    let bench = try Bench()
    try put(32, document, bench)
    #expect(bench.get("/health").status == 200)
    for count in [0, 31, 33] {
      try put(count, document, bench)
      #expect(throws: document.damage, "\(count)") { _ = try bench.account.snapshot() }
      #expect(bench.get("/health").status == 503)
    }
    #expect("\(document.damage)".contains("document “\(document.rawValue)”"))
  }

  @Test func `a factory key of another length than 32 bytes seals no secret`() throws {
    let bench = try Bench()
    for count in [0, 31, 33] {
      try put(count, .factoryKey, bench)
      #expect(throws: AccountDocument.factoryKey.damage) {
        try bench.management.addHardware(identity, name: "door", factorySecret: secret(drawn))
      }
    }
    try put(32, .factoryKey, bench)
    try bench.management.addHardware(identity, name: "door", factorySecret: secret(drawn))
  }

  @Test func `documents without an active key are damaged`() throws {
    for document in [AccountDocument.secret, .customKey, .sealingKey, .stringKey, .saltKey] {
      let bench = try Bench()
      try bench.store.apply([document.put([:])])
      #expect(throws: document.damage) { _ = try bench.account.snapshot() }
    }
  }

  @Test func `an SDK build's key of another mode or length is damaged`() throws {
    let bench = try Bench()
    let row = try #require(bench.store.rows(of: .sdkBuild).first)
    let damage = ServiceError.damaged("SDK build “\(row.key)”")
    let whole = try SDKBuild(row)
    func changed(_ change: (inout SDKBuild) -> Void) throws {
      var build = whole
      change(&build)
      try bench.store.apply([.put(.sdkBuild, row.key, build.bytes)])
      _ = try bench.account.snapshot()
    }
    let (short, other) = ([UInt8](1...15), [UInt8](2...17))
    let place = SDKBuild.place(of: whole.id)
    #expect(throws: damage) { try changed { $0.mode = .development } }
    for key in [short, other] {
      #expect(throws: damage) {
        try changed { $0.sealedKey = bench.account.vault.seal(key.span, for: place) }
      }
    }
    try changed { _ in }
  }

  @Test func `a gate's keys under other names than their own are damaged`() throws {
    let world = try GateBench()
    let store = world.bench.store
    let whole = try #require(try store.one(GateBench.name, Gate.self))
    func renamed(_ kind: Gate.KeyKind, _ id: String) throws {
      var gate = whole
      gate.keys[kind]?.active?.id = id
      try store.apply([.put(.gate, GateBench.name, gate.bytes)])
      _ = try world.bench.account.snapshot()
    }
    let issuer = IssuerKey.random().id.description
    for (kind, noun, ids) in [
      (.key, "key", ["x", "256", ""]), (.account, "account key", ["x", "256", ""]),
      (.issuer, "issuer", ["x", issuer]),
    ] as [(Gate.KeyKind, String, [String])] {
      for id in ids {
        #expect(throws: ServiceError.damaged("\(noun) of the gate “door”"), "\(id)") {
          try renamed(kind, id)
        }
      }
    }
    try renamed(.account, "255")
  }

  @Test func `a report for an API whose key is gone has no answer, and the operator is told`()
    throws
  {
    let log = HandLog()
    let bench = try Bench(log: log)
    try bench.management.addKey(.es256, id: "e")
    try bench.management.add(API("e.example.com", keyID: "e"))
    #expect(try bench.attest(bench.app, name: "e.example.com").outcome == .done)
    try bench.store.apply([.remove(.key, "e")])
    let refused = #expect(throws: Refused.self) {
      try bench.attest(bench.app, name: "e.example.com")
    }
    #expect(refused?.response.status == 503)
    #expect(
      log.all.filter { $0.name == "request failed" }.map { $0.details[0].value }
        == ["The account has no key for “e.example.com”."])
  }

  // MARK: Hardware

  @Test func `a backend is told which row of the account's hardware is damaged`() throws {
    let bench = try Bench()
    let added = try bench.management.addHardware(
      identity, name: "door", factorySecret: secret(drawn))
    let other = try FactoryKey(secret([UInt8](repeating: 1, count: 32)))
    #expect(
      throws: BackendError.damaged(
        path: "the factory secret of \(identity.id)",
        reason: "it was changed, or the factory key is not the account's")
    ) { try AccountHardware(in: bench.store, factoryKey: other).factorySecret(of: added) }
    try bench.store.apply([.put(.hardware, identity.id.description, Array("{}".utf8))])
    #expect(
      throws: BackendError.damaged(
        path: "hardware \(identity.id) of the account", reason: "it does not parse")
    ) { try AccountHardware(in: bench.store).hardware(identity.id) }
  }

  @Test func `the key of hardware's log comes from its factory secret`() throws {
    let bench = try Bench()
    let added = try bench.management.addHardware(
      identity, name: "door", factorySecret: secret(drawn))
    let sealed = try #require(added.sealedFactorySecret)
    let key = try FactoryKey(bench.management.factoryKey())
    let expected = try HardwareLogKey(
      of: identity.id, drawn: SecretBytes(copying: drawn.span))
    let found = try key.logKey(sealed, of: identity.id)
    #expect(found.hasSameKey(as: expected) && found.number == 0)
    let another = HardwareID.random()
    #expect(throws: ServiceError.damaged("factory/\(another)")) {
      _ = try key.logKey(sealed, of: another)
    }
  }
}
