// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct AccountTests {
  @Test func `a passphrase opens its account, another does not`() throws {
    let store = MemoryStore()
    _ = try Account.create(
      "door", in: store, lockedBy: passphrase("right"), url: "https://a.example.com")
    #expect(try Account.open(in: store, with: passphrase("right")).name == "door")
    #expect(throws: ServiceError.wrongPassphrase) {
      try Account.open(in: store, with: passphrase("wrong"))
    }
    #expect(throws: ServiceError.otherLock(expected: "a passphrase")) {
      try Account.open(in: store, with: keyFile())
    }
    #expect(throws: ServiceError.self) { try Account.open(in: store, with: passphrase("")) }
  }

  @Test func `a key file opens its account, another or a short one does not`() throws {
    let store = MemoryStore()
    _ = try Account.create("door", in: store, lockedBy: keyFile(), url: "https://a.example.com")
    #expect(try Account.identity(in: store) == ("door", "key file"))
    _ = try Account.open(in: store, with: keyFile())
    #expect(throws: ServiceError.wrongKeyFile) { try Account.open(in: store, with: keyFile(8)) }
    #expect(throws: ServiceError.self) {
      try Account.open(in: store, with: .keyFile(secret([1, 2, 3])))
    }
  }

  @Test func `a new lock replaces the old one and keeps every secret`() throws {
    let store = MemoryStore()
    let (account, _) = try Account.create(
      "door", in: store, lockedBy: keyFile(), url: "https://a.example.com")
    try account.relock(with: keyFile(8))
    #expect(throws: ServiceError.wrongKeyFile) { try Account.open(in: store, with: keyFile()) }
    let again = try Account.open(in: store, with: keyFile(8))
    let isSame = try Management(again).secret().matches(Management(account).secret())
    #expect(isSame)
  }

  @Test func `an account's first configuration is newer than none, which is serial 0`() throws {
    let (account, _) = try Account.create(
      "door", in: MemoryStore(), lockedBy: keyFile(), url: "https://a.example.com")
    #expect(try Management(account).configuration().serial == 1)
  }

  @Test func `one store holds one account`() throws {
    let store = MemoryStore()
    #expect(throws: ServiceError.noAccount) { try Account.open(in: store, with: keyFile()) }
    _ = try Account.create("door", in: store, lockedBy: keyFile(), url: "https://a.example.com")
    #expect(throws: ServiceError.accountThere("door")) {
      try Account.create("gate", in: store, lockedBy: keyFile(), url: "https://a.example.com")
    }
  }

  @Test(arguments: ["", "UPPER", "with space", "a/b", String(repeating: "a", count: 65)])
  func `an account's name is plain`(_ name: String) {
    #expect(throws: ServiceError.self) {
      try Account.create(
        name, in: MemoryStore(), lockedBy: keyFile(), url: "https://a.example.com")
    }
  }

  @Test(arguments: [
    "http://a.example.com", "ftp://a.example.com", "https://", "a.example.com",
    "https://a.example.com/path", "https://a b",
  ])
  func `the service's address is https, or this machine`(_ url: String) {
    #expect(throws: ServiceError.self) {
      try Account.create("door", in: MemoryStore(), lockedBy: keyFile(), url: url)
    }
  }

  @Test func `no secret stands in the store in the clear`() throws {
    let bench = try Bench()
    try bench.management.setSecureString("name", to: "a very secret string")
    _ = try bench.management.changeDevelopmentKey()
    let developmentKey = try #require(try bench.management.developmentKey())
    var clear: [[UInt8]] = [
      Array("a very secret string".utf8), Array(developmentKey.utf8), [UInt8](1...16),
      Array(bench.managementToken.utf8),
    ]
    clear.append(try bench.management.secret().withBytes { Array(copying: $0) })
    clear.append(try bench.management.sealingKey().withBytes { Array(copying: $0) })
    for table in StoreTable.allCases {
      for row in try bench.store.rows(of: table) {
        let text = String(decoding: row.value, as: UTF8.self)
        for secret in clear {
          #expect(!text.contains(Base64.encode(secret)), "\(table) \(row.key)")
          #expect(!text.contains(Base64.encode(secret, .url)), "\(table) \(row.key)")
          #expect(!text.contains(String(decoding: secret, as: UTF8.self)), "\(table) \(row.key)")
        }
      }
    }
  }

  @Test func `a sealed secret that was moved or changed does not open`() throws {
    let bench = try Bench()
    try bench.management.setSecureString("one", to: "1")
    try bench.management.setSecureString("two", to: "2")
    let one = try #require(try bench.store.row("one", of: .secureString))
    try bench.store.apply([.put(.secureString, "two", one)])
    var policy = try bench.management.policy()
    policy.hasSecureStrings = true
    try bench.management.set(policy)
    var subject = AttestationReport.Subject(.secureString, name: "two")
    subject.payload = [0]
    let refused = #expect(throws: Refused.self) { try bench.attest(bench.app, subject) }
    #expect(refused?.response.status == 503)
  }

  @Test func `a change by one process is served by another`() throws {
    let place = Workplace()
    let bench = try Bench(try SQLiteStore(creatingAt: place.path(of: "store")))
    let other = Management(
      try Account.open(in: SQLiteStore(at: place.path(of: "store")), with: keyFile()),
      clock: bench.clock.clock)
    #expect(try bench.attest(bench.app, name: "new.example.com").outcome == .unknownDomain)
    try other.add(API("new.example.com"))
    let answer = try bench.attest(bench.app, name: "new.example.com")
    let serial = try other.configuration().serial
    #expect(answer.outcome == .done && answer.configSerial == serial)
  }

  @Test func `the count of sealed tokens survives, rounded up, and is never below the truth`()
    throws
  {
    let place = Workplace()
    let clock = HandClock()
    let lock = keyFile()
    let path = place.path(of: "store")
    func management(_ store: any Store) throws -> Management {
      Management(try Account.open(in: store, with: lock), clock: clock.clock)
    }
    do {
      let store = try SQLiteStore(creatingAt: path)
      _ = try Account.create("door", in: store, lockedBy: lock, url: "https://a.example.com")
      try management(store).add(API("lock.example.com", .measurement))
    }
    var blocks: Set<UInt64> = []
    for _ in 0..<3 {
      let management = try management(SQLiteStore(at: path))
      _ = try management.exampleToken(for: "lock.example.com")
      let key = try management.account.snapshot().sealingKey.key
      blocks.insert(try JWEEncrypter(key).sealedCount / TokenKey.block)
      for _ in 0..<5_000 { _ = try management.exampleToken(for: "lock.example.com") }
    }
    // Each start seals 5,001 tokens, which takes more than one block.
    #expect(blocks.count == 3 && blocks.contains(0) && blocks.max()! >= 4)
  }

  @Test func `an account is read again after a change, and not before`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.account.snapshot()
    var readings = store.tables.load(ordering: .relaxed)
    for _ in 0..<3 {
      _ = try bench.account.snapshot()
      #expect(bench.get("/health").status == 200)
    }
    #expect(store.tables.load(ordering: .relaxed) == readings)
    for name in ["a.example.com", "b.example.com"] {
      try bench.management.add(API(name))
      readings = store.tables.load(ordering: .relaxed)
      #expect(try bench.account.snapshot().apis[name] != nil)
      #expect(store.tables.load(ordering: .relaxed) > readings)
    }
  }

  @Test func `a wrapped key keeps each of its parts, and one that lacks a part is none`() throws {
    let account = secret([UInt8](repeating: 7, count: 32))
    let whole = try WrappedKey.wrap(account, by: keyFile())
    let fields = whole.fields
    #expect(fields.members.map(\.name).sorted() == ["kind", "memory", "passes", "salt", "wrapped"])
    let read = try #require(WrappedKey(fields))
    #expect(read.kind == whole.kind && read.salt == whole.salt && read.wrapped == whole.wrapped)
    #expect(read.passes == whole.passes && read.memory == whole.memory)
    for (name, _) in fields.members {
      for wrong in [nil, [[]], "?"] as [JSONValue?] where name != "kind" || wrong != "?" {
        var less = fields
        less[name] = wrong
        #expect(WrappedKey(less) == nil, "\(name)")
      }
    }
  }

  @Test func `an account's name has 64 plain characters at most`() throws {
    for name in ["a", "0", "z-9", String(repeating: "a", count: 64)] {
      let store = MemoryStore()
      let (account, _) = try Account.create(
        name, in: store, lockedBy: keyFile(), url: "https://a.example.com")
      #expect(account.name == name)
      #expect(try Account.identity(in: store) == (name, "key file"))
    }
    for name in ["a`", "a{", "a/", "a:", "a.", "é", String(repeating: "b", count: 90)] {
      #expect(
        throws: ServiceError.invalid(
          "account name", value: String(name.prefix(80)),
          allowed: "1 to 64 lower-case letters, digits and hyphens")
      ) {
        try Account.create(
          name, in: MemoryStore(), lockedBy: keyFile(), url: "https://a.example.com")
      }
    }
    #expect(throws: ServiceError.noAccount) { try Account.identity(in: MemoryStore()) }
  }

  @Test func `a change of something else does not make a key anew`() throws {
    let bench = try Bench()
    _ = try bench.management.exampleToken(for: Bench.lockAPI)
    let before = try JWEEncrypter(bench.account.snapshot().sealingKey.key).sealedCount
    try bench.management.add(API("more.example.com"))
    _ = try bench.management.exampleToken(for: Bench.lockAPI)
    #expect(try JWEEncrypter(bench.account.snapshot().sealingKey.key).sealedCount == before + 1)
  }
}
