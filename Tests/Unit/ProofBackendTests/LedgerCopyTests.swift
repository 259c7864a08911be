// SPDX-License-Identifier: Apache-2.0

import FolderModel
import ProofModel
import Testing

@testable import ProofBackend

/// A ledger into which another program writes, while this one copies to it.
private final class SharedLedger: IssueNotes {
  let ledger: IssueLedgerFile
  private let other: IssuePair
  private let writes: Bool

  init(_ other: IssuePair, writes: Bool) throws {
    ledger = try IssueLedgerFile(ModelFolder())
    self.other = other
    self.writes = writes
  }

  func latestTime() throws(BackendError) -> UnixTime? { try ledger.latestTime() }
  func notes() throws(BackendError) -> [IssueNote] { try ledger.notes() }

  func noteIssue(
    of generation: UInt32, base: UInt32, to pair: IssuePair, by suite: TokenSuite, at time: UnixTime
  ) throws(BackendError) {
    try ledger.noteIssue(of: generation, base: base, to: pair, by: suite, at: time)
    if writes { try ledger.noteIssue(of: 1, base: 1, to: other, by: suite, at: time) }
  }

  func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UnixTime
  ) throws(BackendError) {
    try ledger.noteRevocation(through: generation, of: pair, at: time)
  }
}

@Suite("Copies of ledgers")
struct LedgerCopyTests {
  private static func pair(_ number: UInt8) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: number, count: 16)),
      at: HardwareID([UInt8](repeating: 8, count: 16)))
  }

  @Test("A copy that has another note than its source is told, with the next step")
  func changed() throws {
    let from = try IssueLedgerFile(ModelFolder())
    try from.noteIssue(of: 3, base: 3, to: Self.pair(1), by: .one, at: 7)
    for writes in [false, true] {
      let to = try SharedLedger(Self.pair(2), writes: writes)
      if writes {
        let error = #expect(throws: IssueCopyError.self) { try from.copy(to: to) }
        #expect(
          error?.description
            == "The ledgers differ after the copy: a program used one of them. Stop the backends,"
            + " and copy to another empty ledger.")
      } else {
        #expect(try from.copy(to: to) == 1)
      }
    }
  }
}
