// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import ProofModel
import Synchronization
import Testing

@testable import ProofBackend

/// A folder that notes how many bytes a ledger reads at most.
private final class NotingFolder: FolderAccess {
  struct Reading: Hashable {
    let name: String
    let offset: Int?
    let limit: Int
  }

  let readings = Mutex<Set<Reading>>([])
  private let model: ModelFolder

  init(_ model: ModelFolder) { self.model = model }

  var path: String { model.path }

  func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    _ = readings.withLock { $0.insert(Reading(name: name, offset: nil, limit: limit)) }
    return try model.read(name, limit: limit)
  }

  func read(_ name: String, from offset: Int, limit: Int) throws(FileFailure) -> [UInt8]? {
    _ = readings.withLock { $0.insert(Reading(name: name, offset: offset, limit: limit)) }
    return try model.read(name, from: offset, limit: limit)
  }

  func create(_ name: String) throws(FileFailure) -> OpenFile { try model.create(name) }
  func openAtEnd(_ name: String) throws(FileFailure) -> OpenFile { try model.openAtEnd(name) }

  func write(_ bytes: ArraySlice<UInt8>, to file: OpenFile) throws(FileFailure) -> Int {
    try model.write(bytes, to: file)
  }

  func synchronize(_ file: OpenFile) throws(FileFailure) { try model.synchronize(file) }
  func close(_ file: OpenFile) { model.close(file) }

  func rename(_ name: String, to other: String) throws(FileFailure) {
    try model.rename(name, to: other)
  }

  func remove(_ name: String) throws(FileFailure) { try model.remove(name) }
  func exists(_ name: String) throws(FileFailure) -> Bool { try model.exists(name) }
  func synchronizeFolder() throws(FileFailure) { try model.synchronizeFolder() }
}

@Suite("IssueLedgerFile, bounds")
struct LedgerBoundTests {
  private func pair(_ instance: UInt8 = 1, _ hardware: UInt8 = 8) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: instance, count: 16)),
      at: HardwareID([UInt8](repeating: hardware, count: 16)))
  }

  @Test(
    "A ledger reads a gibibyte of records at most, from the last known one, and 24 bytes of count")
  func limits() throws {
    let model = ModelFolder()
    do {
      let ledger = try IssueLedgerFile(model)
      for instance: UInt8 in 1...3 {
        try ledger.noteIssue(of: 1, base: 1, to: pair(instance), by: .one, at: 1)
      }
    }
    // A record behind the counted ones that is torn: the ledger reads the file whole to cut it off.
    var contents = model.contents
    contents["issued"]?.append(7)
    let folder = NotingFolder(ModelFolder(holding: contents))
    let ledger = try IssueLedgerFile(folder)
    #expect(
      folder.readings.withLock { $0 } == [
        .init(name: "issued", offset: 0, limit: 1_073_741_824),
        .init(name: "issued.count", offset: nil, limit: 24),
        .init(name: "issued", offset: nil, limit: 1_073_741_824),
      ])
    folder.readings.withLock { $0 = [] }
    #expect(try ledger.latestTime() == 1)
    #expect(
      folder.readings.withLock { $0 } == [
        .init(name: "issued", offset: 128, limit: 1_073_741_824),
        .init(name: "issued.count", offset: nil, limit: 24),
      ])
  }

  @Test("A running ledger says that its count is missing, or lower than it was")
  func count() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    var counts: [[UInt8]?] = [folder.contents["issued.count"]]
    for instance: UInt8 in 1...2 {
      try ledger.noteIssue(of: 1, base: 1, to: pair(instance), by: .one, at: 1)
      counts.append(folder.contents["issued.count"])
    }
    let records = try #require(folder.contents["issued"])
    for (count, reason) in [
      (nil, "issued.count is missing: restore both files from one backup"),
      (counts[1], "there are 2 records, and 1 were counted"),
    ] {
      var contents = ["issued": records]
      contents["issued.count"] = count
      folder.put(contents)
      #expect(throws: BackendError.damaged(path: "model/issued", reason: reason)) {
        try ledger.latestTime()
      }
    }
    folder.put(["issued": records, "issued.count": try #require(counts[2])])
    #expect(try ledger.latestTime() == 1)
  }

  @Test("A note of the first second of 1970 has that time")
  func first() throws {
    let ledger = try IssueLedgerFile(ModelFolder())
    try ledger.noteIssue(of: 1, base: 1, to: pair(), by: .one, at: 0)
    #expect(try ledger.latestTime() == 0)
  }

  @Test("A copy has each note of a ledger, also those of the first generation")
  func copies() throws {
    // The generation that was issued, the one that is revoked, and whether a secret sealed.
    let notes: [(UInt32, UInt32, Bool)] = [
      (0, 0, false), (0, 0, true), (1, 0, false), (1, 0, true), (0, 1, false), (0, 1, true),
      (1, 1, false), (1, 1, true), (2, 1, false), (3, 1, true), (1, 2, false), (5, 0, false),
    ]
    let (from, to) = (try IssueLedgerFile(ModelFolder()), try IssueLedgerFile(ModelFolder()))
    for (index, (issued, revoked, isSealed)) in notes.enumerated() {
      let pair = try pair(UInt8(index + 1), UInt8(index + 101))
      if issued > 0 || isSealed {
        try from.noteIssue(
          of: max(issued, 1), base: issued, to: pair, by: isSealed ? .two : .one, at: 7)
      }
      try from.noteRevocation(through: revoked, of: pair, at: 9)
    }
    #expect(try from.copy(to: to) == notes.count)
    let copied = try to.notes()
    #expect(copied.map(\.issued) == notes.map(\.0))
    #expect(copied.map(\.revokedThrough) == notes.map(\.1))
    #expect(copied.map(\.isSealedWithSecret) == notes.map(\.2))
    #expect(try to.latestTime() == 9)
  }

  @Test("A lock that is no file is told with the ledger's folder and the reason")
  func lock() throws {
    let folder = TestFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("lock"), withIntermediateDirectories: false)
    #expect(
      throws: BackendError.storage(
        path: "model", reason: "open \(folder.path("lock")): Is a directory")
    ) {
      try IssueLedgerFile(ModelFolder(), lockPath: folder.path("lock"))
        .noteIssue(of: 1, base: 1, to: pair(), by: .one, at: 0)
    }
  }
}
