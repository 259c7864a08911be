// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Foundation
import PostgresServers
import ProofModel
import Testing

@testable import ProofService

/// A store that ``StoreConformance`` and ``SaltConformance`` judge. Another store is one more line in
/// ``all``.
struct StoreKind: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Makes an empty store, in a folder of its own.
  let make: @Sendable (Workplace) throws -> any Store

  static let all = local + (Server.isThere ? [postgres] : [])

  /// Those without a clock of their own: a service with a clock in the hand works with them.
  static let local = [
    StoreKind(testDescription: "memory") { _ in MemoryStore() },
    StoreKind(testDescription: "SQLite") { try SQLiteStore(creatingAt: $0.path(of: "store")) },
  ]

  /// Stands in ``all`` where Tests/Process/Scale/cluster.sh runs a server.
  private static let postgres = StoreKind(testDescription: "PostgreSQL") { _ in
    // Another account's number is in each call, or a test would find it out.
    let options = try Server.main.database().options()
    _ = try PostgresAccountStore(options, creating: "other")
    var settings = PostgresAccountStore.Settings()
    settings.patience = 60_000
    return try PostgresAccountStore(options, creating: "account", settings)
  }
}

/// Uses of salts, each for the present revision of a store. Times are near the present, because a
/// store that several machines share judges by its own clock.
struct Spender {
  let store: any Store
  let now = UnixTime.now.whole

  /// A use of a fresh salt, or of one that is given.
  func use(
    _ salt: Salt = .random(), by device: InstanceID, in seconds: Int64 = 300, at later: Int64 = 0,
    report: UInt8 = 1, answer: [UInt8] = [42], _ sighting: DeviceSighting? = nil
  ) throws -> SaltUse {
    SaltUse(
      of: salt, by: device, expiring: now + seconds, at: now + later,
      report: Digest(hashing: [report]), answer: answer, revision: try store.revision(),
      sighting: sighting)
  }

  /// Sees a device, judged by its present row.
  func see(
    _ device: InstanceID, at later: Int64 = 0, generation: UInt32 = 0, must: Bool = false,
    gate: GateID? = nil, note: [UInt8] = [], strings: DeviceSighting.StringsChange = .none
  ) throws -> SaltOutcome {
    let version = try store.device(device)?.version ?? 0
    return try store.use(
      use(
        by: device, at: later,
        DeviceSighting(
          over: version, generation: generation, mustRaiseGeneration: must, gate: gate,
          note: note, strings: strings)))
  }

  func mark(of use: SaltUse) throws -> SpentMark? {
    try store.mark(of: use)
  }

  static func device(_ number: UInt8) -> InstanceID {
    try! InstanceID([UInt8](repeating: number, count: 16))
  }
}

extension Store {
  /// The mark of a use's salt.
  func mark(of use: SaltUse) throws -> SpentMark? {
    try glance(at: use.device, and: SaltPlace(use.salt, expiring: use.expiry)).mark
  }
}
