// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresServers
import PostgresStore
import ProofBackend
import ProofModel
import Testing

@testable import AccountStores
@testable import ProofService

/// The times that a restore closes, images without a revision, and rows that no call asked for.
extension PostgresAccountStoreTests {
  @Test func `after a restore no minute, no number and no event of before counts again`() throws {
    let database = try Server.main.database()
    let (one, two) = try (
      PostgresAccountStore(database.options(), creating: "one"),
      PostgresAccountStore(database.options(), creating: "two")
    )
    let spender = Spender(store: one)
    let audience = try AudienceID([UInt8](1...16))
    for store in [one, two] {
      #expect(try store.advance("count", by: 5) == 0)
      try store.apply([.put(.api, "a", [1])])
      let used = try store.redemptions(for: audience)
      _ = try used.begin(at: 1_000)
      #expect(try used.insert(ReplayKey([UInt8](1...24)), until: 2_000, at: 1_000))
    }
    let early = try spender.use(by: Spender.device(1), in: 300)
    let late = try spender.use(by: Spender.device(1), in: 900)
    for _ in 0..<2 { try one.afterRestore(at: spender.now + 600, skipping: 1_000_000) }
    #expect(try one.use(early) == .stale && one.use(late) == .used)
    #expect(try one.advance("count", by: 0) == 2_000_005 && two.advance("count", by: 0) == 5)
    #expect(try one.revision() == 1, "only counters have numbers that were given away")
    let gaps = try [one, two].map {
      try $0.redemptions(for: audience).begin(at: 1_001).gap
    }
    #expect(gaps == [spender.now + 600, 1_000])
    // A call for an earlier time opens nothing again.
    try one.afterRestore(at: spender.now - 6_000, skipping: 0)
    #expect(try one.use(early) == .stale)
    #expect(try one.redemptions(for: audience).begin(at: 1_002).gap == spender.now + 600)
  }

  @Test func `an image needs its revision`() throws {
    let database = try Server.main.database()
    let store = try PostgresAccountStore(database.options(), creating: "account")
    try store.apply([.put(.api, "a", [1])])
    #expect(try store.image(of: [.api]).rows(of: .api) == [StoreRow("a", [1])])
    let place = try database.options().description
    let takeBack = try database.change("pf2.see", "account.account = a;", to: "false;")
    let none = StoreError.database(
      place, detail: "the database is not as this program needs it: an image has no revision")
    for tables in [[], [.api]] as [[StoreTable]] {
      #expect(throws: none) { try store.image(of: tables) }
    }
    try takeBack()
    #expect(try store.image(of: []).revision == 1)
  }

  @Test(.timeLimit(.minutes(5))) func `a store without readers commits no rows by itself`() throws {
    let database = try Server.main.database()
    let idle = try PostgresAccountStore(database.options(), creating: "idle")
    var settings = PostgresAccountStore.Settings()
    settings.readers = try database.options().reading(at: "localhost:\(Server.main.port)")
    let beating = try PostgresAccountStore(database.options(), creating: "beating", settings)
    let watcher = try Server.main.superuser(database.name)
    func rows(_ value: String, of name: String) throws -> Int {
      try watcher.number(
        "SELECT \(value) FROM pf.node n JOIN pf.account a USING (account) WHERE a.name = '\(name)'")
    }
    // The beats of both would have the same pace.
    var seen: Set<Int> = [0]
    while seen.count < 3 {
      let newest = "coalesce(extract(epoch FROM max(n.seen)) * 1000, 0)::int8"
      seen.insert(try rows(newest, of: "beating"))
    }
    #expect(try rows("count(*)", of: "idle") == 0)
    withExtendedLifetime((idle, beating)) {}
  }
}
