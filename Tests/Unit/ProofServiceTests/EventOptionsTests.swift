// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import HTTPServing
import ProofBackend
import ProofModel
import Synchronization
import Testing

@testable import EventServing
@testable import ProofService

/// The options of the listener for events, and its place.
@Suite struct EventOptionsTests {
  private static let least = [
    "--events", "127.0.0.1:9082", "--event-credentials", "c", "--event-replay", "memory",
  ]

  private func read(
    _ words: [String], _ certificate: HTTPCertificateFiles? = nil, hasDatabase: Bool = false
  ) throws -> EventOptions? {
    let taken = EventOptions.knownWithDatabase + [Option("--insecure", help: "")]
    return try EventOptions(
      Options(words, taking: taken), certificate, hasDatabase: hasDatabase)
  }

  private func refusal(
    _ words: [String], _ certificate: HTTPCertificateFiles? = nil
  ) -> String? {
    let error = #expect(throws: UsageError.self) { try read(words, certificate) }
    return error?.description
  }

  private static func changed(_ option: String, _ value: String) -> [String] {
    var words = least
    if let index = words.firstIndex(of: option) {
      words[index + 1] = value
    } else {
      words += [option, value]
    }
    return words
  }

  @Test("The least that is needed has the page's defaults")
  func least() throws {
    #expect(try read([]) == nil)
    let options = try #require(try read(Self.least))
    #expect(options.server.address == "127.0.0.1" && options.server.port == 9_082)
    #expect(options.server.certificate == nil && options.server.limits.bodyByteCount == 4_096)
    #expect(options.credentials == "c" && options.rate == 1_000)
    let place = try options.place()
    #expect(place.audience == nil && place.store is MemoryReplayStore)
  }

  @Test("Each option alone is refused without --events, and two others are needed with it")
  func needed() throws {
    for option in [
      "--event-credentials", "--event-replay", "--event-audience", "--event-rate",
    ] {
      #expect(refusal([option, "1"]) == "\(option) goes with --events")
    }
    #expect(
      refusal(["--events", "127.0.0.1:1", "--event-replay", "memory"])
        == "--event-credentials is missing")
    #expect(
      refusal(["--events", "127.0.0.1:1", "--event-credentials", "c"])
        == "--event-replay is missing")
    #expect(refusal(Self.changed("--events", "here")) != nil)
  }

  @Test("Help names the options, and the database only where there is one")
  func help() {
    #expect(
      EventOptions.known.map(\.words) == [
        "--events ADDRESS:PORT", "--event-credentials FILE", "--event-replay FILE|URI|memory",
        "--event-audience NAME", "--event-rate N",
      ])
    #expect(EventOptions.knownWithDatabase[2].words == "--event-replay FILE|URI|memory|database")
    #expect(EventOptions.audienceOption.name == "--event-audience")
    #expect(EventOptions.known.allSatisfy { !$0.help.isEmpty && !$0.isRepeatable })
  }

  @Test("Other machines reach the listener with a certificate, or if the operator insists")
  func network() throws {
    let abroad = Self.changed("--events", "192.0.2.1:9082")
    #expect(
      refusal(abroad)
        == "--events on 192.0.2.1 would show credentials to the network: listen on 127.0.0.1 or"
        + " ::1, add --certificate, or add --insecure")
    let files = HTTPCertificateFiles(chain: "chain", privateKey: "key")
    #expect(try #require(try read(abroad, files)).server.certificate == files)
    #expect(try #require(try read(abroad + ["--insecure"])).server.address == "192.0.2.1")
    #expect(try read(Self.changed("--events", "[::1]:9082")) != nil)
  }

  @Test("A rate is 1 to 1,000,000 questions a second")
  func rate() throws {
    for rate in [1, 1_000_000] {
      #expect(try read(Self.changed("--event-rate", "\(rate)"))?.rate == rate)
    }
    for rate in ["0", "1000001", "-1", "x", ""] {
      #expect(
        refusal(Self.changed("--event-rate", rate))
          == "--event-rate is \(rate); it takes 1 to 1000000")
    }
  }

  /// A database that notes whose store was opened.
  private final class Database: RedemptionPlace {
    let opened = Mutex<[AudienceID]>([])

    func redemptions(
      for audience: AudienceID
    ) throws(ReplayStoreFailure) -> any RedemptionStore {
      opened.withLock { $0.append(audience) }
      return MemoryReplayStore()
    }
  }

  @Test("The process's own database is for a process with one, and for an audience that is listed")
  func database() throws {
    let words = Self.changed("--event-replay", "database")
    #expect(
      refusal(words)
        == "--event-replay database is for proof-service: name a file, or memory")
    let options = try #require(try read(words + ["--event-audience", "shop"], hasDatabase: true))
    let office = try EventServingTests.Office()
    let database = Database()
    let place = try options.place(in: database, office.configuration)
    #expect(place.audience == "shop" && place.store is MemoryReplayStore)
    #expect(database.opened.withLock { $0 } == [office.verifier.audience])
    let none = "this store keeps no used event tokens: name a file with --event-replay, or memory"
    for (database, configuration) in [(nil, office.configuration), (database, nil)]
      as [(Database?, ProofBackend.GateConfiguration?)]
    {
      let error = #expect(throws: EventFailure.self) {
        try options.place(in: database, configuration)
      }
      #expect(error?.description == none)
    }
    let other = try #require(try read(words + ["--event-audience", "bank"], hasDatabase: true))
    #expect(throws: (any Error).self) { try other.place(in: database, office.configuration) }
    #expect(database.opened.withLock { $0.count } == 1)
  }

  @Test("A path is a file of used tokens, and a URI is a database")
  func file() throws {
    let files = Workplace()
    let path = files.path(of: "events")
    let options = try #require(
      try read(Self.changed("--event-replay", path) + ["--event-audience", "shop"]))
    let place = try options.place()
    #expect(place.audience == "shop" && place.store is SQLiteReplayStore)
    #expect(FileManager.default.fileExists(atPath: path))
    let uri = try #require(
      try read(
        Self.changed("--event-replay", "postgres://proof_gate:secret@db1/proof?sslrootcert=x")))
    let error = #expect(throws: ReplayStoreFailure.self) { try uri.place() }
    #expect(try #require(error).description.contains("password"))
  }

  @Test("A redeemer is for the audience that is named, or the only one")
  func audience() throws {
    let office = try EventServingTests.Office()
    let management = office.world.bench.management
    let store = MemoryReplayStore()
    func whole() throws -> ProofBackend.GateConfiguration {
      let initial = try management.initialConfiguration().split(separator: "#").last
      let fingerprint = try Digest(#require(Base64.decode(String(initial ?? ""))))
      return try ProofBackend.GateConfiguration(
        management.gateConfiguration(GateBench.name), signedBy: fingerprint)
    }
    let own = try GateOwnKeys(
      of: office.configuration.gate,
      [try GateOwnSecret(SecretBytes(copying: [UInt8](repeating: 1, count: 32).span), number: 1)])
    let unnamed = EventPlace(audience: nil, store: store)
    let redeemer = try unnamed.redeemer(try whole(), own)
    #expect(unnamed.canFollow(try whole(), redeemer))
    #expect(!unnamed.canFollow(try whole(), nil), "a first redeemer must be made")
    // A second audience: the options must name one.
    try management.addEvents(EventRange(1...1, at: GateBench.name, for: "bank"))
    let two = try whole()
    let error = #expect(throws: EventFailure.self) { try unnamed.redeemer(two, own) }
    #expect(
      error?.description
        == "the configuration has events of bank, shop: name one with --event-audience")
    let (shop, bank) = (
      EventPlace(audience: "shop", store: store), EventPlace(audience: "bank", store: store)
    )
    #expect(shop.canFollow(two, redeemer) && !bank.canFollow(two, redeemer))
    #expect(try bank.redeemer(two, own).audience != redeemer.audience)
    // Events of none: a redeemer goes on, and a first one is not made.
    try management.removeEvents(1...1)
    try management.removeEvents(3300...3310)
    let none = try whole()
    let empty = #expect(throws: EventFailure.self) { try unnamed.redeemer(none, own) }
    #expect(
      empty?.description
        == "the configuration lists no events: list some with proofctl event add, "
        + "and fetch it again"
    )
    for place in [unnamed, shop] {
      #expect(place.canFollow(none, redeemer) && !place.canFollow(none, nil))
    }
  }

  @Test("Own secrets are listed as a number and a file, and are read with their mode")
  func ownSecrets() throws {
    let taken = [Option("--own", "N:FILE", help: "")]
    func listed(_ text: String) throws -> [(number: UInt8, file: String)] {
      try OwnSecretFiles.listed(Options(["--own", text], taking: taken), "--own")
    }
    let two = try listed("1:own.key,255:/a:b")
    #expect(two.map(\.number) == [1, 255] && two.map(\.file) == ["own.key", "/a:b"])
    for text in ["own.key", "256:own.key", "x:own.key", ":own.key", "1:"] {
      let error = #expect(throws: UsageError.self) { try listed(text) }
      #expect(
        error?.description == "--own is \(text); it takes a number and a file, as in 1:own.key")
    }
    let missing = #expect(throws: UsageError.self) {
      try OwnSecretFiles.listed(Options([String](), taking: taken), "--own")
    }
    #expect(missing?.description == "--own is missing")
    let files = Workplace()
    let gate = GateID.random()
    func write(_ name: String, _ count: Int, mode: Int = 0o600) throws -> String {
      try files.write([UInt8](repeating: 5, count: count), to: name)
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: files.path(of: name))
      return files.path(of: name)
    }
    let good = try write("own", 32)
    let keys = try OwnSecretFiles.keys(of: gate, [(7, good), (8, good)])
    #expect(keys.active == 7 && keys.gate == gate)
    for (name, count, mode) in [("long", 33, 0o600), ("short", 31, 0o600), ("open", 32, 0o640)] {
      let path = try write(name, count, mode: mode)
      #expect(throws: (any Error).self, "\(name)") {
        try OwnSecretFiles.keys(of: gate, [(1, path)])
      }
    }
  }
}
