// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import Synchronization
import Testing

@testable import ProofBackend

/// The properties of every redemption store: counts beside the single use that ``ReplayStoreTests`` shows.
@Suite struct RedemptionStoreTests {
  typealias Kind = ReplayStoreTests.Kind
  static let now: UnixTime = 1_800_000_000

  static func redemption(
    _ number: Int, device: Int = 1, account: Int? = 1, name: Int? = nil
  ) throws -> Redemption {
    Redemption(
      try .numbered(number), until: now + 200_000, device: try .numbered(1_000_000 + device),
      account: try account.map { try .numbered(2_000_000 + $0) },
      name: try name.map { try .numbered(3_000_000 + $0) }, kept: now + 86_400)
  }

  private static func counts(
    _ store: any RedemptionStore, _ number: Int, device: Int = 1, account: Int? = 1,
    at seconds: UInt64 = 0
  ) throws -> EventCounts? {
    let end = try store.redeem(
      redemption(number, device: device, account: account), at: now + seconds
    ) { _ in [] }
    guard case .redeemed(let counts) = end else { return nil }
    return counts
  }

  @Test("Accounts, devices and events are counted, this one with them", arguments: Kind.allCases)
  func sequence(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let first = try #require(try Self.counts(store, 1))
    #expect(first.accountsOfDevice == .init(minute: 1, hour: 1, day: 1))
    #expect(first.devicesOfAccount == .init(minute: 1, hour: 1, day: 1))
    #expect(first.eventsOfDevice == .init(minute: 1, hour: 1, day: 1))
    let second = try #require(try Self.counts(store, 2, account: 2, at: 100))
    #expect(second.accountsOfDevice == .init(minute: 1, hour: 2, day: 2))
    #expect(second.devicesOfAccount == .init(minute: 1, hour: 1, day: 1))
    #expect(second.eventsOfDevice == .init(minute: 1, hour: 2, day: 2))
    let other = try #require(try Self.counts(store, 3, device: 2, account: 2, at: 5_000))
    #expect(other.devicesOfAccount == .init(minute: 1, hour: 1, day: 2))
    #expect(other.eventsOfDevice == .init(minute: 1, hour: 1, day: 1))
    let withoutAccount = try #require(try Self.counts(store, 4, account: nil, at: 5_001))
    #expect(withoutAccount.accountsOfDevice == .init(minute: 0, hour: 0, day: 2))
    #expect(withoutAccount.devicesOfAccount == .init())
    #expect(withoutAccount.eventsOfDevice == .init(minute: 1, hour: 1, day: 3))
    // The clock of a redeemer was set back: the store counts at the highest time that it knows.
    let back = try #require(try Self.counts(store, 5, account: nil, at: 0))
    #expect(back.eventsOfDevice == .init(minute: 2, hour: 2, day: 4))
  }

  @Test(
    "A pair of device and account counts for a minute, an hour and a day, to the second",
    arguments: Kind.allCases)
  func spans(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let rows: [(UInt64, [UInt32])] = [
      (59, [1, 1, 1]), (60, [0, 1, 1]), (3_599, [0, 1, 1]), (3_600, [0, 0, 1]),
      (86_399, [0, 0, 1]), (86_400, [0, 0, 0]),
    ]
    for index in rows.indices {
      _ = try Self.counts(store, index, device: index, account: index, at: 0)
    }
    for (index, (seconds, expected)) in rows.enumerated() {
      let last = try Self.counts(store, 100 + index, device: index, account: nil, at: seconds)
      let accounts = try #require(last).accountsOfDevice
      #expect([accounts.minute, accounts.hour, accounts.day] == expected, "\(seconds)")
      // Another device of the account counts beside the first one.
      let other = try Self.counts(
        store, 200 + index, device: 100 + index, account: index, at: seconds)
      let devices = try #require(other).devicesOfAccount
      #expect([devices.minute, devices.hour, devices.day] == expected.map { $0 + 1 }, "\(seconds)")
    }
  }

  @Test("A token that loses the single use raises no count", arguments: Kind.allCases)
  func losers(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let named = try Self.redemption(1, name: 1)
    var seen: EventCounts?
    let end = try store.redeem(named, at: Self.now) { counts in
      seen = counts
      return [7]
    }
    #expect(end == .redeemed(try #require(seen)))
    #expect(try store.redeem(Self.redemption(1), at: Self.now) { _ in [8] } == .used)
    // The name again, with another token: the old judgement, and the token is not used up.
    let again = try Self.redemption(2, name: 1)
    #expect(try store.redeem(again, at: Self.now) { _ in [9] } == .known([7]))
    #expect(try store.judgement(under: #require(named.name)) == [7])
    let other = try Self.redemption(1, name: 2)
    #expect(try store.redeem(other, at: Self.now) { _ in [9] } == .used)
    #expect(try store.judgement(under: #require(other.name)) == nil)
    #expect(try Self.counts(store, 2)?.eventsOfDevice.day == 2)
  }

  @Test(
    "One of many threads redeems a token, and each redemption counts once",
    arguments: Kind.allCases)
  func race(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let redemptions = try (0..<50).map { try Self.redemption($0, account: $0 % 5) }
    let won = Atomic(0)
    onThreads(4) { _ in
      for redemption in redemptions {
        if case .redeemed? = try? store.redeem(redemption, at: Self.now, { _ in [] }) {
          won.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(won.load(ordering: .relaxed) == 50)
    let last = try #require(try Self.counts(store, 51, account: nil))
    #expect(last.eventsOfDevice.minute == 51 && last.accountsOfDevice.day == 5)
  }

  @Test("More than 256 accounts or devices are counted as 256", arguments: Kind.allCases)
  func most(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    for number in 0..<270 {
      _ = try Self.counts(store, number, account: number, at: UInt64(number))
    }
    let counts = try #require(try Self.counts(store, 300, account: nil, at: 270))
    #expect(counts.accountsOfDevice.day == 256 && counts.eventsOfDevice.day == 271)
    #expect(counts.accountsOfDevice.minute == 59, "the latest are the ones that are counted")
  }

  @Test("Counts go on when the memory drops its old half", arguments: Kind.allCases)
  func halves(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let end = EventCounts.retention
    _ = try Self.counts(store, 1, account: 1)
    _ = try Self.counts(store, 2, account: 2, at: end - 20)
    let counts = try #require(try Self.counts(store, 3, account: nil, at: end + 5))
    #expect(counts.eventsOfDevice.minute == 2 && counts.accountsOfDevice.minute == 1)
  }

  @Test(
    "An account is forgotten, and a day and its margin forget the rest",
    arguments: Kind.allCases)
  func forgetting(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    for device in 1...3 { _ = try Self.counts(store, device, device: device) }
    _ = try Self.counts(store, 4, account: 2)
    let account = try #require(try Self.redemption(1).account)
    #expect(try store.forget(account: account) == 3)
    #expect(try store.forget(account: account) == 0)
    #expect(try Self.counts(store, 5, account: 2)?.accountsOfDevice.day == 1)
    #expect(try Self.counts(store, 6, device: 4)?.devicesOfAccount.day == 1)
    let late = try #require(
      try Self.counts(store, 7, account: nil, at: 2 * EventCounts.retention + 1))
    #expect(late.accountsOfDevice == .init() && late.eventsOfDevice.day == 1)
    // The tokens have ended, too.
    _ = try Self.counts(store, 8, at: 200_400)
    #expect(try Self.counts(store, 1, at: 200_400) != nil)
  }

  @Test(
    "Counts go on after a restart, and two nodes share them",
    arguments: Kind.lasting)
  func durable(_ kind: Kind) throws {
    let folder = TestFolder()
    do { _ = try Self.counts(kind.make(folder), 1) }
    let (one, two) = (try kind.make(folder), try kind.make(folder))
    #expect(try Self.counts(one, 2, account: 2)?.accountsOfDevice.day == 2)
    #expect(try Self.counts(two, 1) == nil, "another node used it")
    #expect(try Self.counts(two, 3)?.eventsOfDevice.day == 3)
  }

  @Test("A full memory uses, counts and records nothing")
  func full() throws {
    let store = MemoryReplayStore(capacity: 4)
    #expect(throws: ReplayStoreFailure.full(entries: 4)) {
      _ = try store.redeem(Self.redemption(1), at: Self.now) { _ in [] }
      _ = try store.redeem(Self.redemption(2, device: 2, account: 2), at: Self.now) { _ in [] }
    }
    #expect(try store.redeem(Self.redemption(1), at: Self.now) { _ in [] } == .used)
  }

  @Test("Two audiences in one database know nothing of each other", arguments: Kind.databases)
  func audiences(_ kind: Kind) throws {
    let folder = TestFolder()
    let one = try kind.make(folder)
    let two = try kind.make(folder, for: try AudienceID([UInt8](2...17)))
    #expect(try Self.counts(one, 1)?.eventsOfDevice.day == 1)
    #expect(try Self.counts(two, 1)?.eventsOfDevice.day == 1)
    #expect(try two.forget(account: #require(Self.redemption(1).account)) == 1)
    #expect(try Self.counts(one, 2, device: 2)?.devicesOfAccount.day == 2)
  }

  @Test(
    "PostgreSQL: a place that was silent for a minute is not complete",
    .enabled(if: Server.isThere))
  func silence() throws {
    let folder = TestFolder()
    let store = try Kind.postgres.make(folder)
    let now = Self.now
    #expect(try store.begin(at: now) == ReplayMemory(highest: 0, gap: now))
    _ = try store.insert(try .numbered(1), until: now + 999, at: now + 10)
    // Another node starts beside it.
    let (early, late) = (try Kind.postgres.make(folder), try Kind.postgres.make(folder))
    #expect(try early.begin(at: now + 70) == ReplayMemory(highest: now + 10, gap: now))
    #expect(try late.begin(at: now + 71) == ReplayMemory(highest: now + 10, gap: now + 71))
    #expect(try store.begin(at: now) == ReplayMemory(highest: now + 10, gap: now + 71))
  }

  @Test(
    "PostgreSQL: a redeemer that is stopped in the middle holds up no other one for long",
    .enabled(if: Server.isThere))
  func stopped() throws {
    let folder = TestFolder()
    let store = try Kind.postgres.make(folder)
    let stopped = try Kind.database(of: folder).service()
    let device = try Self.redemption(1).device
    _ = try stopped.run(PostgresStatement("begin", "BEGIN"))
    let half = try stopped.run(
      PostgresStatement(
        "half",
        "SELECT outcome FROM pf2.replay_redeem(1, $1::int8, NULL, 'k', $1::int8, $2::bytea, NULL)"),
      .int8(Self.now.seconds), .bytea(device.bytes))
    #expect(try half.text(0, 0) == "new")
    // It waits for the place's lock, until the server ends the other session.
    #expect(try Self.counts(store, 1)?.eventsOfDevice.day == 1)
    let late = #expect(throws: PostgresError.self) {
      try stopped.run(PostgresStatement("commit", "COMMIT"))
    }
    #expect(late?.reason == .timedOut || late?.reason == .brokenOff)
  }

  @Test(
    "PostgreSQL: a redemption whose second half is refused leaves nothing, and the next one counts",
    .enabled(if: Server.isThere), arguments: [Kind.postgres, .gate])
  func refusedHalf(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    #expect(try Self.counts(store, 1)?.eventsOfDevice.day == 1)
    let takeBack = try Kind.database(of: folder).change(
      "pf2.replay_judged", "INSERT INTO pf.replay_meter",
      to: "RAISE EXCEPTION 'not now'; INSERT INTO pf.replay_meter")
    let error = #expect(throws: ReplayStoreFailure.self) {
      try store.redeem(Self.redemption(2, name: 2), at: Self.now) { _ in [7] }
    }
    #expect("\(error, default: "none")".contains("not now"))
    try takeBack()
    let named = try Self.redemption(2, name: 2)
    #expect(try store.judgement(under: #require(named.name)) == nil)
    guard case .redeemed(let counts) = try store.redeem(named, at: Self.now, { _ in [8] }) else {
      Issue.record("the token is used up")
      return
    }
    #expect(counts.eventsOfDevice.day == 2)
    #expect(try store.judgement(under: #require(named.name)) == [8])
  }

  @Test(
    "PostgreSQL: backends end again and again, and each token counts once",
    .enabled(if: Server.isThere))
  func endedBackends() throws {
    let folder = TestFolder()
    let stores = try (0..<2).map { _ in try Kind.postgres.make(folder) }
    let database = try Kind.database(of: folder)
    let redemptions = try (0..<60).map { try Self.redemption($0, account: $0 % 5, name: $0) }
    let won = Atomic(0)
    let faults = Atomic(0)
    onThreads(4) { thread in
      for (number, redemption) in redemptions.enumerated() {
        if thread == 0, number % 6 == 3 {
          try? Server.main.superuser().execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '\(database.name)' AND usename = 'proof_service'
            """)
        }
        // A caller that gets no answer asks again under the same name.
        var end: RedemptionEnd?
        while end == nil {
          end = try? stores[thread % 2].redeem(redemption, at: Self.now) { _ in [UInt8(number)] }
        }
        switch end {
        case .redeemed: won.add(1, ordering: .relaxed)
        case .known([UInt8(number)]): break
        default: faults.add(1, ordering: .relaxed)
        }
      }
    }
    #expect(faults.load(ordering: .relaxed) == 0)
    #expect((1...60).contains(won.load(ordering: .relaxed)))
    let last = try #require(try Self.counts(stores[0], 61, account: nil))
    #expect(last.eventsOfDevice.minute == 61 && last.accountsOfDevice.day == 5)
  }

  @Test(
    "A database that was lost, or put back from a backup, is not complete",
    arguments: [Kind.sqlite, .service])
  func backup(_ kind: Kind) throws {
    let folder = TestFolder()
    #expect(try kind.make(folder).begin(at: Self.now).gap == Self.now)
    do { _ = try Self.counts(kind.make(folder), 1) }
    let (path, copy) = (folder.path("replay"), folder.path("copy"))
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    for name in [path, path + "-wal", path + "-shm"] {
      try? FileManager.default.removeItem(atPath: name)
    }
    // Lost: another file, which knows of no use.
    #expect(try kind.make(folder).begin(at: Self.now + 1).gap == Self.now + 1)
    for name in [path, path + "-wal", path + "-shm"] {
      try? FileManager.default.removeItem(atPath: name)
    }
    // Put back a minute and more after its last entry.
    try FileManager.default.copyItem(atPath: copy, toPath: path)
    #expect(try kind.make(folder).begin(at: Self.now + 61).gap == Self.now + 61)
  }
}
