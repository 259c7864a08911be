// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
@testable import ProofKit
import ProofModel
import SeededRandom
import Testing

@Suite("MeasurementStore")
struct MeasurementStoreTests {
  private typealias Failure = MeasurementStoreError

  /// A model folder that holds generation 1, and a store on it that is about to save generation 2.
  private func stored(_ fault: ModelFolder.Fault) throws -> (ModelFolder, MeasurementStore) {
    let folder = ModelFolder(
      fault, holding: [MeasurementStore.fileName: try Sample.pair(1).bytes])
    return (folder, MeasurementStore(folder))
  }

  private func callCountOfSave() throws -> Int {
    let (folder, store) = try stored(.init())
    try store.save(Sample.pair(2))
    return folder.callCount
  }

  @Test("a power cut before any call of a save leaves the old pair or the new one")
  func powerCut() throws {
    let old = try Sample.pair(1)
    let new = try Sample.pair(2)
    let count = try callCountOfSave()
    #expect(count >= 7, "read, remove, create, write, synchronize, rename, synchronize")
    var seen: Set<UInt32> = []
    for cut in 0...count {
      let (folder, store) = try stored(.init(cut: cut))
      let saved = (try? store.save(new)) != nil
      #expect(saved == (cut == count))
      for remains in folder.afterPowerCut() {
        let next = MeasurementStore(ModelFolder(holding: remains))
        let found = try next.load()
        #expect(found == old || found == new)
        #expect(!saved || found == new, "what save has promised is there")
        seen.insert(found?.generation ?? 0)
        try next.save(Sample.pair(3))
        #expect(try next.load() == Sample.pair(3))
      }
    }
    #expect(seen == [1, 2])
  }

  @Test("the same test notices a store that does not synchronize its file, or its folder")
  func plantedDefects() throws {
    let defects = [
      ModelFolder.Fault(forgetsFiles: true), ModelFolder.Fault(forgetsFolder: true),
    ]
    for fault in defects {
      let (folder, store) = try stored(fault)
      try store.save(Sample.pair(2))
      let isAlwaysNew = folder.afterPowerCut().allSatisfy { remains in
        let next = MeasurementStore(ModelFolder(holding: remains))
        return (try? next.load()).map { $0?.generation == 2 } ?? false
      }
      #expect(!isAlwaysNew)
    }
  }

  @Test("any call that fails is told, and the store says what is stored", arguments: [ENOSPC, EIO])
  func failingCall(code: Int32) throws {
    let count = try callCountOfSave()
    for number in 0..<count {
      let (folder, store) = try stored(.init(failing: (number, code)))
      #expect(throws: Failure.self) { try store.save(Sample.pair(2)) }
      folder.mend()
      let found = try store.load()
      #expect(try found == Sample.pair(1) || found == Sample.pair(2))
      let reopened = MeasurementStore(ModelFolder(holding: folder.contents))
      #expect(try reopened.load() == found)
      try store.save(Sample.pair(2))
      #expect(try store.load() == Sample.pair(2))
      #expect(Set(folder.contents.keys) == [MeasurementStore.fileName])
    }
  }

  @Test("a failed synchronization of the folder says that a power cut may undo the save")
  func notDurable() throws {
    let count = try callCountOfSave()
    let (_, store) = try stored(.init(failing: (count - 1, EIO)))
    #expect {
      try store.save(Sample.pair(2))
    } throws: { error in
      if case Failure.notDurable = error { return true }
      return false
    }
  }

  @Test("writes that take one byte at a time store the same")
  func shortWrites() throws {
    let (folder, store) = try stored(.init(writeMax: 1))
    try store.save(Sample.pair(2))
    #expect(folder.contents[MeasurementStore.fileName] == (try Sample.pair(2).bytes))
  }

  @Test("after a power cut the mark for backup programs is there whole, or not at all")
  func mark() throws {
    let whole = ModelFolder()
    BackupExclusion.mark(whole)
    let tag = try #require(whole.contents[BackupExclusion.tagName])
    for cut in 0...whole.callCount {
      let folder = ModelFolder(.init(cut: cut))
      BackupExclusion.mark(folder)
      for remains in folder.afterPowerCut() {
        #expect(remains[BackupExclusion.tagName] ?? tag == tag)
      }
    }
  }

  @Test("an older pair never comes back, in whatever order answers arrive")
  func generations() throws {
    let store = MeasurementStore(ModelFolder())
    try store.save(Sample.pair(5))
    #expect(throws: Failure.superseded(stored: 5, offered: 4)) { try store.save(Sample.pair(4)) }
    let twin = try StoredMeasurement(Sample.config(5, salt: 9), of: Sample.instance)
    #expect(throws: Failure.superseded(stored: 5, offered: 5)) { try store.save(twin) }
    let smaller = try Sample.pair(5, tokens: [1])
    #expect(throws: Failure.superseded(stored: 5, offered: 5)) { try store.save(smaller) }
    #expect(throws: Failure.superseded(stored: 5, offered: 4)) {
      try store.add(Sample.token(3), generation: 4)
    }
    try store.save(Sample.pair(5))
    #expect(try store.load() == Sample.pair(5))
  }

  @Test("another installation's pair is refused until the store was erased")
  func instances() throws {
    let store = MeasurementStore(ModelFolder())
    try store.save(Sample.pair(5))
    let other = try InstanceID([UInt8](repeating: 8, count: 16))
    let pair = try StoredMeasurement(Sample.config(1), of: other)
    #expect(throws: Failure.otherInstance(stored: Sample.instance, offered: other)) {
      try store.save(pair)
    }
    try store.erase()
    #expect(try store.load() == nil)
    try store.save(pair)
    #expect(try store.load() == pair)
  }

  @Test("a token is added to its own generation, one for each hardware")
  func tokens() throws {
    let store = MeasurementStore(ModelFolder())
    #expect(throws: Failure.empty) { try store.add(Sample.token(1), generation: 1) }
    try store.save(Sample.pair(1, tokens: []))
    for number in [UInt8(9), 1, 5, 9] {
      try store.add(Sample.token(number, filler: number), generation: 1)
    }
    #expect(try store.load()?.tokens == [1, 5, 9].map { try Sample.token($0, filler: $0) })
    let again = try Sample.token(5, filler: 77)
    try store.add(again, generation: 1)
    #expect(try store.load()?.token(for: Sample.hardware(5)) == again)
    try store.removeToken(for: Sample.hardware(5))
    #expect(try store.load()?.tokens.count == 2)
    #expect(throws: Failure.tokenForOther(try Sample.hardware(2))) {
      try StoredToken(Sample.token(1).token, for: Sample.hardware(2))
    }
    #expect(throws: Failure.repeatedHardware(try Sample.hardware(1))) {
      try Sample.pair(1, tokens: [1, 1])
    }
  }

  @Test("a damaged file is reported once and kept, whatever is wrong with it")
  func damaged() throws {
    let intact = try Sample.pair(1).bytes
    var cases = stride(from: 0, to: intact.count, by: 37).map { Array(intact.prefix($0)) }
    for index in intact.indices {
      var bytes = intact
      bytes[index] ^= 1 << UInt8(index % 8)
      cases.append(bytes)
    }
    cases.append(intact + [0])
    for bytes in cases {
      let folder = ModelFolder(holding: [MeasurementStore.fileName: bytes])
      let store = MeasurementStore(folder)
      let aside = MeasurementStore.fileName + ".damaged-1"
      #expect(throws: Failure.damaged(keptAs: aside, byteCount: bytes.count)) { try store.load() }
      #expect(folder.contents == [aside: bytes])
      #expect(try store.load() == nil)
      try store.save(Sample.pair(1))
    }
  }

  @Test("a second damaged file does not take the first one's place")
  func damagedTwice() throws {
    let folder = ModelFolder(holding: [
      MeasurementStore.fileName: [2], MeasurementStore.fileName + ".damaged-1": [1],
    ])
    let aside = MeasurementStore.fileName + ".damaged-2"
    #expect(throws: Failure.damaged(keptAs: aside, byteCount: 1)) {
      try MeasurementStore(folder).load()
    }
    #expect(Set(folder.contents.values) == [[1], [2]])
  }

  @Test("a later version's file is told, left as it is and not overwritten")
  func tooNew() throws {
    var bytes = Array(try Sample.pair(1).bytes.dropLast(32))
    bytes[4] = 2
    bytes += Digest(hashing: StoredMeasurement.Layout.label + bytes).bytes
    let folder = ModelFolder(holding: [MeasurementStore.fileName: bytes])
    let store = MeasurementStore(folder)
    #expect(throws: Failure.tooNew(version: 2)) { try store.load() }
    #expect(throws: Failure.tooNew(version: 2)) { try store.save(Sample.pair(2)) }
    #expect(folder.contents == [MeasurementStore.fileName: bytes])
  }

  @Test("changed bytes under a right check are refused, or are a pair that writes the same bytes")
  func mutations() throws {
    let label = StoredMeasurement.Layout.label
    let intact = try Sample.pair(1).bytes
    let seed = UInt64.random(in: 1...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    var acceptedCount = 0
    for _ in 0..<20_000 {
      var bytes = Array(intact.dropLast(32))
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        // The head and the tokens' heads decide most: half of the changes go there.
        let end = Bool.random(using: &generator) ? 40 : bytes.count
        guard !bytes.isEmpty else { break }
        let index = Int.random(in: 0..<min(end, bytes.count), using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: bytes.removeSubrange(index..<min(bytes.count, index + 308))
        default: bytes.insert(contentsOf: bytes.suffix(308), at: index)
        }
      }
      bytes += Digest(hashing: label + bytes).bytes
      if let pair = try? StoredMeasurement(parsing: bytes) {
        acceptedCount += 1
        #expect(pair.bytes == bytes, "seed \(seed)")
      }
    }
    #expect(acceptedCount > 0, "seed \(seed): changes within a token's sealed part are no damage")
  }

  @Test("every error says something, and nothing of the pair")
  func words() throws {
    let id = Sample.instance
    let errors: [Failure] = [
      .noPlace, .unusable(path: "p", reason: "r"), .inUse(path: "p", processID: 3),
      .inUse(path: "p", processID: nil), .failed(path: "p", reason: "r"),
      .notDurable(path: "p", reason: "r"), .damaged(keptAs: "n", byteCount: 1),
      .tooNew(version: 2), .superseded(stored: 2, offered: 1),
      .otherInstance(stored: id, offered: id), .empty,
      .repeatedHardware(try Sample.hardware(1)), .tokenForOther(try Sample.hardware(1)),
      .tooManyTokens(count: 300, allowed: 256), .noMeasurement(AttestationError(.noNetwork)),
    ]
    for error in errors { #expect(error.description.hasSuffix(".")) }
    #expect(Set(errors.map(\.description)).count == errors.count)
  }
}
