// SPDX-License-Identifier: Apache-2.0

import FolderModel
@testable import ProofBackend
import ProofModel
import Testing

/// Two users of one ledger, such as a backend that runs and `proofctl order sign`.
@Suite("IssueLedgerFile, shared")
struct SharedLedgerTests {
  private func pair(_ number: UInt8 = 1) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: number, count: 16)),
      at: HardwareID([UInt8](repeating: 9, count: 16)))
  }

  @Test("each step of one user obeys every step of the other before it")
  func interleaved() throws {
    let folder = ModelFolder()
    let backend = try IssueLedgerFile(folder)
    let tool = try IssueLedgerFile(folder)
    try backend.noteIssue(of: 5, to: pair(), at: 10)
    #expect(throws: BackendError.superseded(issued: 5, offered: 4)) {
      try tool.noteIssue(of: 4, to: pair(), at: 11)
    }
    #expect(try tool.latestTime() == 10)
    try tool.noteRevocation(through: 7, of: pair(), at: 12)
    #expect(throws: BackendError.revokedInstance(try pair().instance, through: 7)) {
      try backend.noteIssue(of: 6, to: pair(), at: 13)
    }
    #expect(try backend.latestTime() == 12)
    try backend.noteIssue(of: 8, to: pair(), at: 14)
    try tool.noteRevocation(through: 1, of: pair(2), at: 15)
    // A third user, which comes later, sees the same.
    let third = try IssueLedgerFile(folder)
    #expect(throws: BackendError.revokedInstance(try pair().instance, through: 7)) {
      try third.noteIssue(of: 7, to: pair(), at: 16)
    }
    #expect(folder.contents[IssueLedgerFile.fileName]?.count == 4 * 64)
  }

  @Test(
    "a user whose power went in any call leaves the other one whole, which goes on",
    arguments: 0..<20)
  func diesInBetween(cut: Int) throws {
    let start = ModelFolder()
    try IssueLedgerFile(start).noteIssue(of: 5, to: pair(), at: 1)
    let before = start.contents
    let calls = ModelFolder(holding: before)
    _ = try IssueLedgerFile(calls)
    // The one dies `cut` calls into its step; the other has had the ledger since before.
    let folder = ModelFolder(.init(cut: calls.callCount * 2 + cut), holding: before)
    let other = try IssueLedgerFile(folder)
    let dying = try IssueLedgerFile(folder)
    let isPromised = (try? dying.noteRevocation(through: 9, of: pair(), at: 2)) != nil
    folder.mend()
    if isPromised {
      #expect(throws: BackendError.self) { try other.noteIssue(of: 9, to: pair(), at: 3) }
    }
    try other.noteIssue(of: 10, to: pair(), at: 3)
    try other.noteRevocation(through: 11, of: pair(), at: 4)
    let third = try IssueLedgerFile(folder)
    #expect(throws: BackendError.self) { try third.noteIssue(of: 11, to: pair(), at: 5) }
    #expect(folder.contents[IssueLedgerFile.fileName]?.count.isMultiple(of: 64) == true)
  }

  @Test("a ledger that was replaced or cut under a running user stops it")
  func replaced() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    for number in UInt8(1)...3 { try ledger.noteIssue(of: 1, to: pair(number), at: 1) }
    let whole = folder.contents
    let older = ModelFolder()
    try IssueLedgerFile(older).noteIssue(of: 1, to: pair(7), at: 1)
    for contents in [older.contents, [:]] {
      let under = ModelFolder(holding: whole)
      let running = try IssueLedgerFile(under)
      under.put(contents)
      #expect(throws: BackendError.self) { try running.noteIssue(of: 2, to: pair(), at: 2) }
    }
  }
}
