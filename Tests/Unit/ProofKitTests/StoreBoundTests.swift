// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Errors of a measurement's store")
final class StoreErrorTests {
  private typealias Failure = MeasurementStoreError

  private let folder = "/var/tmp/proofkit-store-\(UInt64.random(in: 1 ... .max))"

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The path of an error, and nil if its reason is none.
  private func path(_ body: () throws(Failure) -> Void) -> String? {
    do throws(Failure) {
      try body()
      return nil
    } catch {
      switch error {
      case .unusable(let path, let reason): return reason.isEmpty || reason == path ? nil : path
      case .failed(let path, let reason), .notDurable(let path, let reason):
        return reason.isEmpty || reason == path ? nil : "\(path): \(error.code)"
      default: return nil
      }
    }
  }

  @Test("a folder that cannot be used is named, and so is one whose lock cannot be made")
  func folders() throws {
    try FileManager.default.createDirectory(
      atPath: folder + "/lock", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    #expect(path { () throws(Failure) in _ = try MeasurementStore(folder: folder) } == folder)
    try Data([1]).write(to: URL(filePath: folder + "/file"))
    let below = folder + "/file/below"
    #expect(path { () throws(Failure) in _ = try MeasurementStore(folder: below) } == below)
    #expect(
      path { () throws(Failure) in _ = try MeasurementStore.inspect(folder: below) }
        == below + ": STORE-4")
  }

  @Test("a folder whose calls fail is named, and whether the change may be undone")
  func calls() throws {
    let pair = try Sample.pair(1)
    let (saving, replacing) = (ModelFolder(), ModelFolder())
    try MeasurementStore(saving).save(pair)
    try MeasurementStore(replacing).replace("other", with: [1])
    for (call, code) in [(0, "STORE-4"), (saving.callCount - 1, "STORE-5")] {
      let store = MeasurementStore(ModelFolder(.init(failing: (call, EIO))))
      #expect(path { () throws(Failure) in try store.save(pair) } == "model: \(code)")
    }
    for (call, code) in [(0, "STORE-4"), (replacing.callCount - 1, "STORE-5")] {
      let store = MeasurementStore(ModelFolder(.init(failing: (call, EIO))))
      #expect(
        path { () throws(Failure) in try store.replace("other", with: [1]) } == "model: \(code)")
    }
    let unread = MeasurementStore(ModelFolder(.init(failing: (0, EIO))))
    #expect(path { () throws(Failure) in _ = try unread.load() } == "model: STORE-4")
    let other = MeasurementStore(ModelFolder(.init(failing: (0, EIO))))
    #expect(path { () throws(Failure) in _ = try other.file("other") } == "model: STORE-4")
  }

  @Test("an inspection tells what is there, and leaves it as it is")
  func inspection() throws {
    #expect(try MeasurementStore.inspect(folder: folder) == nil)
    let pair = try Sample.pair(1)
    try MeasurementStore(folder: folder).save(pair)
    #expect(try MeasurementStore.inspect(folder: folder) == pair)
    let file = URL(filePath: folder + "/measurement")
    var newer = Array(pair.bytes.dropLast(32))
    newer[4] = 2
    newer += Digest(hashing: Array("pfs1.measurement".utf8) + newer).bytes
    for (bytes, error) in [
      ([1, 2, 3], .damaged(keptAs: "measurement", byteCount: 3)), (newer, .tooNew(version: 2)),
    ] as [([UInt8], Failure)] {
      try Data(bytes).write(to: file)
      #expect(throws: error) { try MeasurementStore.inspect(folder: folder) }
      #expect(try Data(contentsOf: file) == Data(bytes))
    }
  }

  @Test("a pair has 256 tokens at most, and its file is read again")
  func tokens() throws {
    func token(_ number: Int) throws -> StoredToken {
      let hardware = try HardwareID(
        [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 1, count: 14))
      let head = Array("PT".utf8) + [1, 1] + hardware.bytes.prefix(4)
      let body = [UInt8](repeating: 0, count: 288 - head.count)
      return try StoredToken(MeasurementToken(head + body), for: hardware)
    }
    let (config, instance) = (try Sample.config(1), Sample.instance)
    let most = try StoredMeasurement(config, of: instance, tokens: (0..<256).map(token))
    #expect(most.tokens.count == 256)
    #expect(try StoredMeasurement(parsing: most.bytes) == most)
    let error = Failure.tooManyTokens(count: 257, allowed: 256)
    #expect(throws: error) {
      _ = try StoredMeasurement(config, of: instance, tokens: (0..<257).map(token))
    }
    #expect(throws: error) { _ = try most.adding(token(256)) }
    #expect(try most.adding(token(255)) == most)
  }
}

@Suite("Pairs to come, and hardware without tokens for them")
struct MissingTokenTests {
  @Test("hardware has a token of each pair for which its backend gave one")
  func pairs() throws {
    let (first, second) = (try Sample.hardware(1), try Sample.hardware(2))
    let upcoming = [
      UpcomingPair(try Sample.config(2), token: "two", label: "2"),
      UpcomingPair(try Sample.config(3), token: "three", label: "3"),
    ]
    let (one, two) = (try Sample.token(1).token.bytes, try Sample.token(2).token.bytes)
    let none = [UInt8](repeating: 0, count: 288)
    func generations(_ answer: [UInt8]) throws -> [UInt32] {
      let tokens = [
        try HardwareTokens(one, to: upcoming, for: first),
        try HardwareTokens(answer, to: upcoming, for: second),
      ]
      let pairs = try StoredMeasurement.pairs(
        Sample.config(1), of: Sample.instance, with: upcoming, tokens)
      #expect(pairs.present.generation == 1)
      #expect(pairs.present.tokens.map(\.hardware) == [first, second])
      for pair in pairs.upcoming { #expect(pair.tokens.map(\.hardware) == [second]) }
      return pairs.upcoming.map(\.generation)
    }
    #expect(try generations(two) == [])
    #expect(try generations(two + none + none) == [])
    #expect(try generations(two + two + none) == [2])
    #expect(try generations(two + none + two) == [3])
    #expect(try generations(two + two + two) == [2, 3])
  }
}

@Suite("Files of strings at their bounds")
struct StringFileBoundTests {
  private typealias Failure = SecureStringError

  /// A record whose value has this weight: the bytes of its name and value.
  private func record(_ key: UInt8, _ name: UInt8, weight: Int) throws -> StringFile.Record {
    .init(
      place: .init(key: try stringKey(key).id, name: [UInt8](repeating: name, count: 16)),
      sealed: .init(
        nonce: [UInt8](repeating: 1, count: StringKey.Sealed.nonceByteCount),
        body: [UInt8](repeating: 2, count: weight + 18)))
  }

  @Test("strings of one key have 262,144 bytes together, and no more")
  func bytes() throws {
    var file = StringFile()
    #expect(throws: Failure.noRoom(.bytes)) { try file.set(record(1, 1, weight: 262_145)) }
    try file.set(record(1, 1, weight: 262_143))
    #expect(throws: Failure.noRoom(.bytes)) { try file.set(record(1, 2, weight: 2)) }
    try file.set(record(1, 2, weight: 1))
    try file.set(record(2, 1, weight: 262_144))
    #expect(file.records.count == 3)
  }

  @Test("a file has 1,067,048 bytes, and no more")
  func file() throws {
    var file = StringFile()
    for key in 1...4 as ClosedRange<UInt8> { try file.set(record(key, 1, weight: 262_144)) }
    #expect(throws: Failure.noRoom(.file)) { try file.set(record(5, 1, weight: 18_083)) }
    try file.set(record(5, 1, weight: 18_082))
    #expect(file.bytes.count == 1_067_048)
    #expect(try StringFile(parsing: file.bytes) == file)
  }

  /// Whether a file is read that has so many records with bodies of so many bytes.
  private func isRead(_ count: Int, body: Int) throws -> Bool {
    var bytes = Array("PKSS".utf8) + [1, 0, UInt8(count & 0xFF), UInt8(count >> 8)]
    let key = try stringKey(1).id.bytes
    for number in 0..<count {
      let name = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: 14)
      bytes += key + name
      bytes += [UInt8](repeating: 3, count: 48 - key.count - name.count)
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: body >> ($0 * 8)) }
      bytes += [UInt8](repeating: 2, count: body)
    }
    bytes += Digest(hashing: Array("pfs1.strings....".utf8) + bytes).bytes
    guard let file = try? StringFile(parsing: bytes) else { return false }
    #expect(file.records.count == count && file.bytes == bytes)
    return true
  }

  @Test("256 records are read, bodies of 20 bytes and more, and files of 40 bytes and more")
  func read() throws {
    for (count, body, expected) in [
      (0, 20, true), (1, 20, true), (1, 19, false), (256, 20, true), (257, 20, false),
      (1, 1_066_956, true), (1, 1_066_957, false),
    ] { #expect(try isRead(count, body: body) == expected, "\(count) \(body)") }
  }
}
