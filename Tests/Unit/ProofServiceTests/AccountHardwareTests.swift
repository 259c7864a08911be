// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct AccountHardwareTests {
  private let id: HardwareID
  private let identity: HardwareIdentity

  init() throws {
    id = .random()
    identity = try HardwareKeys(
      id: id, secretKey: .random(count: 32), mode: .production,
      issuers: [IssuerKey.random().publicKey]
    ).identity
  }

  @Test func `registrations and revocations count at once, without opening the account`() throws {
    let bench = try Bench()
    let registry = try AccountHardware(in: bench.store)
    #expect(try registry.hardware(id) == nil)
    let added = try bench.management.addHardware(
      identity, mode: .development, allowsLiteral: true, name: "door")
    #expect(try registry.hardware(id) == added)
    #expect(added.mode == .development && added.allowsLiteral && !added.isRevoked)
    #expect(added.added == bench.clock.now && added.name == "door")
    #expect(try bench.management.hardware(id) == added)
    try bench.management.revokeHardware(id)
    #expect(try registry.hardware(id)?.isRevoked == true)
    #expect(throws: ServiceError.alreadyThere("hardware", name: id.description)) {
      try bench.management.addHardware(identity, name: "door")
    }
  }

  @Test func `a store without an account is no registry`() throws {
    #expect(throws: ServiceError.noAccount) { try AccountHardware(in: MemoryStore()) }
  }

  @Test func `a damaged row is an error, not unknown hardware`() throws {
    let bench = try Bench()
    let registry = try AccountHardware(in: bench.store)
    let whole = try bench.management.addHardware(identity, name: "door").bytes
    var rows: [[UInt8]] = [[], Array("[]".utf8), Array("{}".utf8), Array(whole.dropLast())]
    for name in ["publicKey", "mode", "literal", "revoked", "name", "added"] {
      guard case .object(var fields) = try JSONValue(parsing: whole.span) else { return }
      fields[name] = nil
      rows.append(Array(JSONValue.object(fields).text.utf8))
      fields[name] = ["x"]
      rows.append(Array(JSONValue.object(fields).text.utf8))
    }
    // A factory secret goes with its feature, or the row was changed.
    for change: JSONObject in [
      ["features": "token-2"], ["features": ["x"]], ["features": ["token-2", "token-2"]],
      ["factorySecret": "AAAA"], ["features": ["factory-secret"], "factorySecret": [1]],
    ] {
      guard case .object(var fields) = try JSONValue(parsing: whole.span) else { return }
      for (name, value) in change.members { fields[name] = value }
      rows.append(Array(JSONValue.object(fields).text.utf8))
    }
    for row in rows {
      try bench.store.apply([.put(.hardware, id.description, row)])
      #expect(throws: BackendError.self, "\(String(decoding: row, as: UTF8.self))") {
        try registry.hardware(id)
      }
    }
  }
}
