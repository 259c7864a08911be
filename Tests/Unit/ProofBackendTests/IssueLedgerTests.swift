// SPDX-License-Identifier: Apache-2.0

import AccountStores
import FolderModel
import PostgresBackend
import PostgresServers
import ProofModel
import Testing

@testable import ProofBackend

/// The properties of every ledger of issued tokens. An implementation of another place adds itself to ``Kind``.
@Suite struct IssueLedgerTests {
  enum Kind: CaseIterable {
    case file, postgres

    static let allCases = [Kind.file] + (Server.isThere ? [.postgres] : [])

    /// The ledger of a folder, or of the folder's database. It is the same one at each call.
    func open(_ folder: TestFolder, _ name: String = "ledger") throws -> any IssueNotes {
      switch self {
      case .file: try LedgerPlace.open(folder.path(name))
      case .postgres:
        try PostgresIssueLedger(
          ReplayStoreTests.Kind.database(of: folder).options(), named: name, patience: 60_000)
      }
    }
  }

  private func pair(_ instance: UInt8 = 1, _ hardware: UInt8 = 8) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: instance, count: 16)),
      at: HardwareID([UInt8](repeating: hardware, count: 16)))
  }

  @Test(
    "PostgreSQL: an answer that this program does not know is told, and no token is issued by it",
    .enabled(if: Server.isThere))
  func answers() throws {
    let folder = TestFolder()
    let ledger = try Kind.postgres.open(folder)
    let database = try ReplayStoreTests.Kind.database(of: folder)
    let place = try database.options().description
    let takeBack = try database.change("pf2.ledger_issue", "'issued', 0", to: "'noted', 0")
    #expect(
      throws: BackendError.storage(
        path: place, reason: "its answer noted is not known; update the program")
    ) { try ledger.noteIssue(of: 7, base: 5, to: pair(), by: .one, at: 10) }
    try takeBack()
    try ledger.noteIssue(of: 7, base: 5, to: pair(), by: .one, at: 10)
    #expect(try ledger.notes().map(\.issued) == [5])
    let owner = try database.superuser()
    for (instance, hardware) in [("01", "02"), (String(repeating: "ff", count: 16), "02")] {
      try owner.execute(
        """
        INSERT INTO pf.ledger_pair
          SELECT place, '\\x\(instance)', '\\x\(hardware)', 1, 0, 1 FROM pf.ledger
        """)
      #expect(
        throws: BackendError.storage(
          path: place,
          reason: "the database is not as this program needs it: a note has no ids of 16 bytes")
      ) { try ledger.notes() }
      try owner.execute("DELETE FROM pf.ledger_pair WHERE hardware = '\\x\(hardware)'")
    }
    #expect(try ledger.latestTime() == 10)
  }

  @Test("A folder that cannot be read is named, with the system's reason")
  func unreadable() {
    let error = #expect(throws: BackendError.self) {
      try IssueLedgerFile(ModelFolder(.init(failing: (call: 0, code: 5))))
    }
    guard case .storage(let path, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path == "model" && reason != path)
  }

  @Test("A generation never goes back below the base of a fetch", arguments: Kind.allCases)
  func generations(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    try ledger.noteIssue(of: 7, base: 5, to: pair(), by: .one, at: 10)
    // The pairs of one fetch come in any order, and again.
    for generation: UInt32 in [5, 6, 8, 7, 5] {
      try ledger.noteIssue(of: generation, base: 5, to: pair(), by: .one, at: 10)
    }
    for ledger in [ledger, try kind.open(folder)] {
      #expect(throws: BackendError.superseded(issued: 5, offered: 4)) {
        try ledger.noteIssue(of: 4, base: 4, to: pair(), by: .one, at: 11)
      }
    }
    try ledger.noteIssue(of: 9, base: 9, to: pair(), by: .one, at: 11)
    #expect(throws: BackendError.superseded(issued: 9, offered: 8)) {
      try ledger.noteIssue(of: 8, base: 5, to: pair(), by: .one, at: 12)
    }
    // An older base with a later generation does not lower the highest one.
    try ledger.noteIssue(of: 10, base: 5, to: pair(), by: .one, at: 12)
    #expect(throws: BackendError.superseded(issued: 9, offered: 8)) {
      try ledger.noteIssue(of: 8, base: 8, to: pair(), by: .one, at: 12)
    }
    // Other pairs are not touched.
    try ledger.noteIssue(of: 1, base: 1, to: pair(2), by: .one, at: 12)
    try ledger.noteIssue(of: 1, base: 1, to: pair(1, 9), by: .one, at: 12)
  }

  @Test("A base is at most the generation, and at most 65,535 below it", arguments: Kind.allCases)
  func bases(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    try ledger.noteIssue(of: 65_540, base: 5, to: pair(), by: .one, at: 1)
    for (generation, base) in [(65_541, 5), (5, 6)] as [(UInt32, UInt32)] {
      #expect(throws: BackendError.superseded(issued: base, offered: generation)) {
        try ledger.noteIssue(of: generation, base: base, to: pair(2), by: .one, at: 1)
      }
    }
    #expect(try ledger.notes().map(\.pair) == [pair()])
  }

  @Test("No token is issued up to a revoked generation", arguments: Kind.allCases)
  func revocations(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    // Before the first token, too.
    try ledger.noteRevocation(through: 3, of: pair(), at: 1)
    for generation: UInt32 in 0...3 {
      #expect(throws: BackendError.revokedInstance(try pair().instance, through: 3)) {
        try ledger.noteIssue(of: generation, base: generation, to: pair(), by: .one, at: 2)
      }
    }
    try ledger.noteIssue(of: 4, base: 4, to: pair(), by: .one, at: 2)
    try ledger.noteRevocation(through: 6, of: pair(), at: 3)
    try ledger.noteRevocation(through: 2, of: pair(), at: 3)
    for ledger in [ledger, try kind.open(folder)] {
      #expect(throws: BackendError.revokedInstance(try pair().instance, through: 6)) {
        try ledger.noteIssue(of: 6, base: 4, to: pair(), by: .two, at: 4)
      }
    }
    try ledger.noteRevocation(through: .max, of: pair(), at: 5)
    #expect(throws: BackendError.revokedInstance(try pair().instance, through: .max)) {
      try ledger.noteIssue(of: .max, base: .max, to: pair(), by: .one, at: 6)
    }
    try ledger.noteIssue(of: .max, base: .max, to: pair(2), by: .one, at: 6)
    // A pair without a note has generation 0 revoked.
    #expect(throws: BackendError.revokedInstance(try pair(3).instance, through: 0)) {
      try ledger.noteIssue(of: 0, base: 0, to: pair(3), by: .one, at: 6)
    }
  }

  @Test("After a token of suite two the hardware gets none of suite one", arguments: Kind.allCases)
  func suites(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    try ledger.noteIssue(of: 1, base: 1, to: pair(1, 8), by: .one, at: 1)
    try ledger.noteIssue(of: 1, base: 1, to: pair(1, 8), by: .two, at: 1)
    try ledger.noteIssue(of: 1, base: 1, to: pair(1, 9), by: .one, at: 1)
    for ledger in [ledger, try kind.open(folder)] {
      for instance: UInt8 in [1, 2] {
        #expect(throws: BackendError.downgraded(try pair(instance, 8).hardware)) {
          try ledger.noteIssue(of: 9, base: 9, to: pair(instance, 8), by: .one, at: 2)
        }
      }
      try ledger.noteIssue(of: 1, base: 1, to: pair(2, 8), by: .two, at: 2)
      try ledger.noteIssue(of: 1, base: 1, to: pair(2, 9), by: .one, at: 2)
    }
    // A refused token of suite two leaves no mark at its hardware.
    try ledger.noteRevocation(through: 5, of: pair(1, 9), at: 3)
    #expect(throws: BackendError.revokedInstance(try pair().instance, through: 5)) {
      try ledger.noteIssue(of: 5, base: 5, to: pair(1, 9), by: .two, at: 3)
    }
    try ledger.noteIssue(of: 6, base: 6, to: pair(1, 9), by: .one, at: 3)
  }

  @Test("The latest time is that of any note, and does not fall", arguments: Kind.allCases)
  func times(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    #expect(try ledger.latestTime() == nil)
    try ledger.noteIssue(of: 1, base: 1, to: pair(), by: .one, at: 10)
    #expect(try ledger.latestTime() == 10)
    try ledger.noteRevocation(through: 1, of: pair(2), at: 12)
    #expect(try ledger.latestTime() == 12)
    try ledger.noteIssue(of: 2, base: 2, to: pair(2), by: .one, at: 11)
    try ledger.noteRevocation(through: 1, of: pair(2), at: 5)
    #expect(try kind.open(folder).latestTime() == 12)
  }

  @Test("Ledgers of two names know nothing of each other", arguments: Kind.allCases)
  func names(_ kind: Kind) throws {
    let folder = TestFolder()
    let (one, other) = (try kind.open(folder, "one"), try kind.open(folder, "other"))
    try one.noteIssue(of: 5, base: 5, to: pair(), by: .two, at: 10)
    try one.noteRevocation(through: 5, of: pair(), at: 10)
    #expect(try other.latestTime() == nil)
    #expect(try other.notes().isEmpty)
    try other.noteIssue(of: 1, base: 1, to: pair(), by: .one, at: 1)
  }

  private func fill(_ ledger: any IssueNotes) throws {
    try ledger.noteIssue(of: 3, base: 1, to: pair(1, 8), by: .one, at: 10)
    try ledger.noteIssue(of: 9, base: 9, to: pair(2, 8), by: .two, at: 11)
    try ledger.noteRevocation(through: 9, of: pair(2, 8), at: 12)
    try ledger.noteRevocation(through: .max, of: pair(3, 9), at: 13)
    try ledger.noteIssue(of: 2, base: 0, to: pair(4, 9), by: .one, at: 13)
    try ledger.noteIssue(of: 2, base: 0, to: pair(5, 8), by: .two, at: 14)
  }

  @Test("Notes tell each pair once, in one order", arguments: Kind.allCases)
  func notes(_ kind: Kind) throws {
    let folder = TestFolder()
    let ledger = try kind.open(folder)
    try fill(ledger)
    func note(
      _ pair: IssuePair, _ issued: UInt32, _ revoked: UInt32, _ isSealed: Bool
    ) -> IssueNote {
      IssueNote(
        pair: pair, issued: issued, revokedThrough: revoked, isSealedWithSecret: isSealed)
    }
    #expect(
      try ledger.notes() == [
        note(pair(1, 8), 1, 0, true), note(pair(2, 8), 9, 9, true),
        note(pair(3, 9), 0, .max, false), note(pair(4, 9), 0, 0, false),
        note(pair(5, 8), 0, 0, true),
      ])
  }

  @Test("A copy refuses what its source refuses", arguments: Kind.allCases, Kind.allCases)
  func copies(_ kind: Kind, _ other: Kind) throws {
    let folder = TestFolder()
    let (from, to) = (try kind.open(folder, "from"), try other.open(folder, "to"))
    #expect(try from.copy(to: to) == 0)
    #expect(try to.latestTime() == nil)
    try fill(from)
    #expect(try from.copy(to: to) == 5)
    #expect(try to.notes() == from.notes())
    #expect(try to.latestTime() == 14)
    for ledger in [from, to] {
      #expect(throws: BackendError.revokedInstance(try pair(3).instance, through: .max)) {
        try ledger.noteIssue(of: 50, base: 50, to: pair(3, 9), by: .one, at: 20)
      }
      #expect(throws: BackendError.revokedInstance(try pair(2).instance, through: 9)) {
        try ledger.noteIssue(of: 9, base: 9, to: pair(2, 8), by: .two, at: 20)
      }
      #expect(throws: BackendError.downgraded(try pair(6, 8).hardware)) {
        try ledger.noteIssue(of: 1, base: 1, to: pair(6, 8), by: .one, at: 20)
      }
    }
    // A ledger with notes is no target.
    #expect(throws: IssueCopyError.notEmpty) { try from.copy(to: to) }
  }

  @Test("A URI with a password is refused, and the words do not repeat it")
  func password() throws {
    let failure = #expect(throws: BackendError.self) {
      try LedgerPlace.open("postgres://user:secret@localhost/proof?sslrootcert=/none")
    }
    #expect("\(failure as Any)".contains("holds a password"))
    #expect(!"\(failure as Any)".contains("secret"))
  }
}
