// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Foundation
import OwnThreads
import PostgresServers
import ProofModel
import Testing

@testable import ProofService

/// Properties of the store in PostgreSQL, beside those that ``StoreConformance`` and ``SaltConformance`` judge.
@Suite(.enabled(if: Server.isThere)) struct PostgresAccountStoreTests {
  private let database: Database
  private let device = Spender.device(1)

  init() throws { database = try Server.main.database() }

  private func store(_ name: String) throws -> PostgresAccountStore {
    var settings = PostgresAccountStore.Settings()
    settings.patience = 60_000
    return try PostgresAccountStore(database.options(), creating: name, settings)
  }

  @Test func `accounts of one database share nothing but the ring's floors`() throws {
    let one = try store("one")
    #expect(try PostgresAccountStore(database.options(), opening: nil).revision() == 0)
    let two = try store("two")
    try one.apply([.put(.api, "a", [1])])
    #expect(try two.rows(of: .api) == [] && two.row("a", of: .api) == nil)
    #expect(try one.revision() == 1 && two.revision() == 0)
    #expect(try one.advance("count", by: 5) == 0 && two.advance("count", by: 5) == 0)
    let salt = Salt.random()
    for store in [one, two] {
      let use = try Spender(store: store).use(
        salt, by: device, DeviceSighting(over: 0, generation: 7, note: [], strings: .put([1])))
      #expect(try store.use(use) == .used)
    }
    #expect(try one.dropDevices(lastSeenBefore: .last, atMost: 9) == 1)
    #expect(try one.generationFloor() == 7 && two.generationFloor() == 0)
    #expect(try two.device(device)?.generation == 7 && one.device(device) == nil)
    #expect(try two.row(device.description, of: .deviceString) == [1])
    #expect(try one.counts().devices == 0 && two.counts().devices == 1)
    // An account is named where there are several, and is not made by opening it.
    for (name, words) in [(nil, "several accounts"), ("three", "no account “three”")] {
      let error = #expect(throws: StoreError.self) {
        try PostgresAccountStore(database.options(), opening: name)
      }
      #expect(try #require(error).description.contains(words))
    }
    #expect(try PostgresAccountStore(database.options(), opening: "one").revision() == 1)
    #expect(try store("one").row("a", of: .api) == [1])
  }

  /// A server that replays behind another one is a matter of Tests/Process/Scale/cluster_test.py.
  @Test func `a survey at a reader is of the rows that its age is about`() throws {
    let writer = try store("account")
    var settings = PostgresAccountStore.Settings()
    settings.readers = try database.options().reading(at: "localhost:\(Server.main.port)")
    let store = try PostgresAccountStore(database.options(), opening: nil, settings)
    #expect(try store.surveyedCounts().content.devices == 0)
    #expect(try store.surveyedDevices(latest: 9).content.isEmpty)
    let spender = Spender(store: writer)
    for number in UInt8(1)...3 { #expect(try spender.see(Spender.device(number)) == .used) }
    let listed = try store.surveyedDevices(latest: 2)
    #expect(try listed.content == writer.devices(latest: 2) && listed.content.count == 2)
    // The readings above committed rows of their own.
    guard case .atMost(let seconds) = listed.age else {
      Issue.record("\(listed.age)")
      return
    }
    #expect(seconds >= 0)
    let counted = try store.surveyedCounts()
    #expect(counted.content.devices == 3 && counted.age != .present && counted.age != .unknown)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a store with readers commits rows by itself, so an idle account does not look old`()
    throws
  {
    var settings = PostgresAccountStore.Settings()
    settings.readers = try database.options().reading(at: "localhost:\(Server.main.port)")
    let store = try PostgresAccountStore(database.options(), creating: "account", settings)
    let watcher = try Server.main.superuser(database.name)
    func newest() throws -> Int {
      try watcher.number(
        "SELECT coalesce(extract(epoch FROM max(seen)) * 1000, 0)::int8 FROM pf.node")
    }
    var seen: Set<Int> = [0]
    while seen.count < 4 { seen.insert(try newest()) }
    withExtendedLifetime(store) {}
  }

  @Test func `a glance at a device that was dropped elsewhere brings the floor of its generation`()
    throws
  {
    let (one, two) = (try store("account"), try store("account"))
    func see(_ device: UInt8, _ generation: UInt32) throws {
      let sighting = DeviceSighting(over: 0, generation: generation, note: [])
      let use = try Spender(store: two).use(by: Spender.device(device), sighting)
      #expect(try two.use(use) == .used)
      #expect(try two.dropDevices(lastSeenBefore: .last, atMost: 9) == 1)
    }
    #expect(try one.device(device) == nil && one.generationFloor() == 0)
    try see(1, 7)
    #expect(try one.device(device) == nil && one.generationFloor() == 7)
    // The store that drops devices needs no glance; a lower floor that is read later changes nothing.
    #expect(try two.device(device) == nil && two.generationFloor() == 7)
    try see(2, 9)
    #expect(try two.generationFloor() == 9)
    try see(3, 8)
    #expect(try one.device(device) == nil && one.generationFloor() == 9)
  }

  @Test func `backends end again and again: nothing is lost or made twice`() throws {
    let store = try store("account")
    let faults = CoreLock<[String]>([])
    let counts = CoreLock<[UInt64]>([])
    let rounds = 30
    onThreads(8) { thread in
      let device = Spender.device(UInt8(thread + 1))
      for round in 0..<rounds {
        do {
          // An operation that is repeated finds that it was applied, and not that its row is taken.
          try store.apply([.insert(.api, "\(thread) \(round)", [1])])
          counts.withLock { $0.append(.max) }
          let count = try store.advance("count", by: 1)
          counts.withLock { $0.append(count) }
          // Another thread may change the revision meanwhile.
          let salt = Salt.random()
          var outcome = SaltOutcome.changed
          while outcome == .changed {
            let sighting = DeviceSighting(over: UInt64(round), note: [UInt8(round)])
            outcome = try store.use(Spender(store: store).use(salt, by: device, sighting))
          }
          if outcome != .used, outcome != .again([42]) {
            faults.withLock { $0.append("\(outcome)") }
          }
          if thread == 0, round % 5 == 2 {
            try Server.main.superuser().execute(
              """
              SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = '\(database.name)' AND usename = 'proof_service'
              """)
          }
        } catch {
          faults.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(faults.withLock { $0 } == [])
    #expect(try store.rows(of: .api).count == 8 * rounds)
    #expect(try store.revision() == UInt64(8 * rounds))
    let numbers = counts.withLock { $0.filter { $0 != .max } }
    #expect(Set(numbers).count == 8 * rounds, "a number was given twice")
    for thread in 1...8 as ClosedRange<UInt8> {
      #expect(try store.device(Spender.device(thread))?.version == UInt64(rounds))
    }
  }

  @Test func `an operation that was committed and not answered is repeated once`() throws {
    let store = try store("account")
    let call = { try database.service().run(.apply([1], [2], from: nil, to: [3])) }
    #expect(try call().text(0, 0) == "applied")
    #expect(try call().text(0, 0) == "again")
    #expect(try store.revision() == 1)
  }

  @Test func `times beyond what the schema keeps are stale, and no crash`() throws {
    let store = try store("account")
    for seconds in [Int64.max, Int64(Int32.max) + 1, .min, -1] {
      var use = try Spender(store: store).use(by: device, DeviceSighting(over: 0, note: []))
      use.expiry = UnixTime(seconds: seconds)
      #expect(try store.use(use) == .stale)
      #expect(try store.mark(of: use) == nil)
    }
    var late = try Spender(store: store).use(by: device, DeviceSighting(over: 0, note: []))
    late.time = UnixTime(seconds: .min)
    #expect(try store.use(late) == .used)
    #expect(try store.dropMarks(expiredBefore: .last) == 1)
    #expect(try store.dropMarks(expiredBefore: UnixTime(seconds: .min)) == 0)
  }

  @Test func `a primary that can commit nothing gives no reading of the present`() throws {
    // Its standby does not exist: so it is for a primary that was cut off and replaced.
    let alone = try Server.alone.database()
    try alone.superuser().execute("SELECT pf2.make_account('account')")
    var settings = PostgresAccountStore.Settings()
    settings.patience = 0
    let store = try PostgresAccountStore(alone.options(timeout: 2_000), opening: nil, settings)
    try Server.aloneTurn.withLock { _ in try expectNoPresent(of: store) }
  }

  private func expectNoPresent(of store: PostgresAccountStore) throws {
    #expect(throws: StoreError.self) { try store.revision() }
    #expect(throws: StoreError.self) { try store.glance(at: device, and: nil) }
    #expect(throws: StoreError.self) { try store.image(of: [.api]) }
    // The other readings follow one of these.
    #expect(try store.rows(of: .api) == [])
  }

  @Test func `a database that is away is an error with its reason, and no password`() throws {
    let store = try PostgresAccountStore(database.options(), creating: "account")
    #expect(try store.revision() == 0)
    try Server.main.superuser().execute(
      """
      ALTER DATABASE \(database.name) ALLOW_CONNECTIONS false;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)';
      """)
    let error = try #require(#expect(throws: StoreError.self) { try store.revision() })
    #expect(error.description.contains(database.name), "\(error)")
    #expect(!error.description.contains("-secret"))
    try Server.main.superuser().execute(
      "ALTER DATABASE \(database.name) ALLOW_CONNECTIONS true")
    #expect(try store.revision() == 0)
  }

  // MARK: Answers that are none

  /// Expects that a reading tells an answer that the schema never gives.
  private func told<R>(_ words: String, _ body: () throws -> R) throws {
    let place = try database.options().description
    let detail = "the database is not as this program needs it: \(words)"
    #expect(throws: StoreError.database(place, detail: detail)) { _ = try body() }
  }

  @Test func `a generation, a mark or a device that is none is told by each reading of it`() throws
  {
    let store = try store("account")
    let gate = try GateID([UInt8](repeating: 4, count: 16))
    let sighting = DeviceSighting(over: 0, generation: 7, gate: gate, note: [1])
    let use = try Spender(store: store).use(by: device, sighting)
    #expect(try store.use(use) == .used)
    let owner = try database.superuser()
    let words = "a device has a generation that is none"
    for generation in ["-1", "4294967296"] {
      try owner.execute("UPDATE pf.device SET generation = \(generation)")
      try told(words) { try store.device(device) }
      try told(words) { try store.devices(latest: 1) }
      try owner.execute("UPDATE pf.gate_line SET generation = \(generation)")
      try told(words) { try store.generation(of: device, at: gate) }
      for name in ["generation floor", "gate generation floor"] {
        try owner.execute(
          """
          INSERT INTO pf.counter VALUES (1, '\(name)', \(generation))
          ON CONFLICT (account, name) DO UPDATE SET value = excluded.value
          """)
      }
      try told(words) { try store.generationFloor() }
      try told(words) { try store.gateGenerationFloor() }
      try told(words) { try store.glance(at: Spender.device(9), and: nil) }
    }
    try owner.execute(
      """
      UPDATE pf.device SET generation = 4294967295; UPDATE pf.gate_line SET generation = 4294967295;
      UPDATE pf.counter SET value = 4294967295 WHERE name LIKE '%generation floor'
      """)
    #expect(try store.device(device)?.generation == .max)
    #expect(try store.generation(of: device, at: gate) == .max)
    #expect(try store.generationFloor() == .max && store.gateGenerationFloor() == .max)
    let place = SaltPlace(use.salt, expiring: use.expiry)
    let slot = place.slot < 10 ? "0\(place.slot)" : "\(place.slot)"
    try owner.execute("UPDATE pf.spent_\(slot) SET report = '\\x01'")
    try told("a mark has a digest that is none") { try store.glance(at: device, and: place) }
    #expect(try store.glance(at: device, and: nil).device?.note == [1])
    try owner.execute("INSERT INTO pf.device VALUES (1, '\\x010203', 1, 0, 1, 1, 0, '')")
    try told("a row has a device that is none") { try store.devices(latest: 9) }
    #expect(try store.counts().devices == 2)
  }

  @Test func `an outcome that this program does not know is told, and taken for no other one`()
    throws
  {
    let store = try store("account")
    let place = try database.options().description
    func use() throws -> SaltOutcome {
      try store.use(Spender(store: store).use(by: device, DeviceSighting(over: 0, note: [1])))
    }
    for (text, other, words) in [
      ("'used';", "'spent';", "pf2.use_many has no outcome spent"),
      ("generate_series(1, n)", "generate_series(2, n)", "0 outcomes for 1 challenges"),
    ] {
      let takeBack = try database.change("pf2.use_many", text, to: other)
      try told(words) { try use() }
      try takeBack()
    }
    for (text, other, outcome) in [
      ("'applied', -1", "'done', -1", "done"), ("'applied', -1", "'taken', 1", "taken"),
      ("'applied', -1", "'changed', -1", "changed"),
    ] {
      let takeBack = try database.change("pf2.apply", text, to: other)
      #expect(
        throws: StoreError.database(place, detail: "a change of rows ended as “\(outcome)”")
      ) { try store.apply([.put(.api, "a", [1])]) }
      try takeBack()
    }
    try store.apply([.put(.api, "b", [1])])
    #expect(try store.rows(of: .api).map(\.key) == ["a", "b"])
  }

  @Test
  func `a reading at a replica without rows of a node tells no age, and never a negative one`()
    throws
  {
    var settings = PostgresAccountStore.Settings()
    settings.readers = try database.options().reading(at: "localhost:\(Server.main.port)")
    let store = try PostgresAccountStore(database.options(), creating: "account", settings)
    #expect(try Spender(store: store).see(device) == .used)
    for (text, age) in [
      ("NULL::timestamptz", SurveyAge.unknown),
      ("(max(seen) - interval '90 s')", .atMost(seconds: 91)),
      ("(max(seen) + interval '90 s')", .atMost(seconds: 0)),
    ] {
      let takeBack = try database.change("pf2.age", "max(seen)", to: text)
      let (listed, counted) = try (store.surveyedDevices(latest: 2), store.surveyedCounts())
      #expect(listed.content.map(\.device) == [device] && counted.content.devices == 1)
      for found in [listed.age, counted.age] {
        // A row of the node is at most some seconds old.
        if case .atMost(91) = age, case .atMost(let seconds) = found {
          #expect((90...120).contains(seconds))
        } else {
          #expect(found == age, "\(text)")
        }
      }
      try takeBack()
    }
  }
}
