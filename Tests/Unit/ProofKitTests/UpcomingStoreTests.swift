// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
@testable import ProofKit
import ProofModel
import Testing

@Suite("MeasurementStore, pairs to come")
struct UpcomingStoreTests {
  private static let device = try! Source(SourceID(.device, 1), version: 1, groupsLog2: 0)
  private static let app = try! Source(SourceID(.app, 2), version: 1, groupsLog2: 1)

  /// The evidence of a build on the one device.
  private func evidence(_ build: UInt8) throws -> EvidenceSet {
    try EvidenceSet([
      EvidenceRecord(Self.device.id, name: Array("board".utf8), digest: Digest(hashing: [1])),
      EvidenceRecord(Self.app.id, name: Array("executable".utf8), digest: Digest(hashing: [build])),
    ])
  }

  private func config(
    _ generation: UInt32, of build: UInt8, key: MeasurementProofKey = .sdk
  ) throws -> MeasurementConfig {
    let draft = try BaselineDraft(
      salt: Salt([UInt8](repeating: build, count: 16)), sources: [Self.device, Self.app],
      generation: generation)
    return try MeasurementConfig(baseline: evidence(build), draft, with: key)
  }

  /// The result of a fetch whose present pair has a generation, with pairs to come of builds.
  private func result(
    _ base: UInt32, upcoming builds: [UInt8], key: MeasurementProofKey = .sdk
  ) throws -> FetchResult {
    FetchResult(
      .success, token: "present", measured: (try config(base, of: 1), Sample.instance),
      upcoming: try builds.enumerated().map { index, build in
        UpcomingPair(
          try config(base + 1 + UInt32(index), of: build, key: key), token: "token \(build)",
          label: "build \(build)")
      })
  }

  private func tokens(_ lock: UInt8, _ result: FetchResult) throws -> HardwareTokens {
    let all = try (0...result.upcoming.count).flatMap { index in
      try Sample.token(lock, filler: UInt8(index)).token.bytes
    }
    return try HardwareTokens(all, to: result.upcoming, for: Sample.hardware(lock))
  }

  private func chosen(
    _ store: MeasurementStore, _ lock: UInt8, running build: UInt8
  ) throws -> (generation: UInt32, before: UInt32?) {
    let found = try store.hardware(Sample.hardware(lock), fitting: evidence(build))
    return (found.chosen.generation, found.before?.generation)
  }

  @Test("the app's request has the tokens of all pairs, and the answer has one for each")
  func request() throws {
    let result = try result(4, upcoming: [2, 3])
    #expect(HardwareTokens.requestBody(for: result.upcoming) == Array("token 2\ntoken 3".utf8))
    let hardware = try Sample.hardware(1)
    let one = try Sample.token(1).token.bytes
    let none = [UInt8](repeating: 0, count: one.count)
    let tokens = try HardwareTokens(one + none + one, to: result.upcoming, for: hardware)
    #expect(tokens.upcoming.map { $0 == nil } == [true, false])
    // A backend that does not know pairs to come.
    #expect(try HardwareTokens(one, to: result.upcoming, for: hardware).upcoming.isEmpty)
    for wrong in [[], one + one, one + [0], one + one + one + one] {
      #expect(throws: MeasurementStoreError.tokenForOther(hardware)) {
        try HardwareTokens(wrong, to: result.upcoming, for: hardware)
      }
    }
    let other = try Sample.token(2).token.bytes
    #expect(throws: MeasurementStoreError.tokenForOther(hardware)) {
      try HardwareTokens(one + other + one, to: result.upcoming, for: hardware)
    }
  }

  @Test("the pair is chosen that the running app fits, and the present one if none does")
  func choice() throws {
    let store = MeasurementStore(ModelFolder())
    let result = try result(4, upcoming: [2, 3])
    try store.save([tokens(1, result)], of: result)
    #expect(try chosen(store, 1, running: 1) == (4, nil))
    #expect(try chosen(store, 1, running: 2) == (5, 4))
    #expect(try chosen(store, 1, running: 3) == (6, 4))
    #expect(try chosen(store, 1, running: 9) == (4, nil))
    #expect(throws: MeasurementStoreError.notPaired(try Sample.hardware(7))) {
      try chosen(store, 7, running: 2)
    }
  }

  @Test("a pair that was made for another key is not chosen")
  func otherKey() throws {
    let store = MeasurementStore(ModelFolder())
    let key = try MeasurementProofKey(
      SecretBytes(copying: [UInt8](repeating: 77, count: 16).span),
      mode: MeasurementProofKey.sdk.mode)
    let result = try result(4, upcoming: [2], key: key)
    try store.save([tokens(1, result)], of: result)
    #expect(try chosen(store, 1, running: 2) == (4, nil))
    let found = try store.hardware(
      Sample.hardware(1), fitting: evidence(2), key: key)
    #expect(found.chosen.generation == 5)
  }

  @Test("an older SDK finds the present pair, and ignores the others")
  func older() throws {
    let folder = ModelFolder()
    let store = MeasurementStore(folder)
    let result = try result(4, upcoming: [2])
    try store.save([tokens(1, result)], of: result)
    #expect(try store.load()?.generation == 4)
    #expect(try store.hardware(Sample.hardware(1)).generation == 4)
  }

  @Test("a lock's older tokens are deleted when it has accepted a newer pair, and no others")
  func deletion() throws {
    let store = MeasurementStore(ModelFolder())
    let result = try result(4, upcoming: [2, 3])
    try store.save([tokens(1, result), tokens(2, result)], of: result)
    let first = try store.hardware(Sample.hardware(1), fitting: evidence(2)).chosen
    try store.noteAccepted(by: first)
    #expect(try chosen(store, 1, running: 2) == (5, nil))
    // Lock 2 was not there yet: its present pair and both others stand.
    #expect(try chosen(store, 2, running: 1) == (4, nil))
    #expect(try chosen(store, 2, running: 2) == (5, 4))
    let second = try store.hardware(Sample.hardware(2), fitting: evidence(2)).chosen
    try store.noteAccepted(by: second)
    // No lock is left at the present pair: the next one takes its place.
    #expect(try store.load()?.generation == 5)
    #expect(try store.upcoming().map(\.generation) == [6])
    #expect(try chosen(store, 2, running: 3) == (6, 5))
  }

  @Test("a lock that went on by two pairs keeps no token of the pair between")
  func skipped() throws {
    let store = MeasurementStore(ModelFolder())
    let result = try result(4, upcoming: [2, 3])
    try store.save([tokens(1, result), tokens(2, result)], of: result)
    try store.noteAccepted(
      by: store.hardware(Sample.hardware(1), fitting: evidence(3)).chosen)
    let left = try store.upcoming().map { pair in
      try (1...2).map { pair.token(for: try Sample.hardware($0)) != nil }
    }
    #expect(left == [[false, true], [true, true]])
  }

  @Test("a receipt under the present pair deletes nothing")
  func presentReceipt() throws {
    let store = MeasurementStore(ModelFolder())
    let result = try result(4, upcoming: [2])
    try store.save([tokens(1, result)], of: result)
    try store.noteAccepted(by: store.hardware(Sample.hardware(1)))
    #expect(try chosen(store, 1, running: 2) == (5, 4))
  }

  @Test("a new fetch replaces all pairs of the one before")
  func renewal() throws {
    let store = MeasurementStore(ModelFolder())
    let first = try result(4, upcoming: [2, 3])
    try store.save([tokens(1, first)], of: first)
    let second = try result(8, upcoming: [5])
    try store.save([tokens(1, second)], of: second)
    #expect(try store.load()?.generation == 8)
    #expect(try store.upcoming().map(\.generation) == [9])
    let third = try result(12, upcoming: [])
    try store.save([tokens(1, third)], of: third)
    #expect(try store.upcoming().isEmpty)
  }

  @Test("a power cut at any call leaves a present pair, and a damaged pair to come counts as none")
  func powerCut() throws {
    let old = try result(4, upcoming: [2])
    let new = try result(8, upcoming: [3])
    func started(_ fault: ModelFolder.Fault) throws -> (ModelFolder, MeasurementStore) {
      let before = ModelFolder()
      try MeasurementStore(before).save([tokens(1, old)], of: old)
      let folder = ModelFolder(fault, holding: before.afterPowerCut()[0])
      return (folder, MeasurementStore(folder))
    }
    let (whole, store) = try started(.init())
    try store.save([tokens(1, new)], of: new)
    for cut in 0...whole.callCount {
      let (folder, store) = try started(.init(cut: cut))
      try? store.save([tokens(1, new)], of: new)
      for remains in folder.afterPowerCut() {
        let next = MeasurementStore(ModelFolder(holding: remains))
        let generation = try next.load()?.generation
        #expect(generation == 4 || generation == 8)
        let opens = try chosen(next, 1, running: 1).generation
        #expect(opens == generation)
        _ = try chosen(next, 1, running: 2)
      }
    }
    let damaged = ModelFolder(holding: [
      MeasurementStore.fileName: try Sample.pair(1).bytes, "measurement.up1": [1, 2, 3],
    ])
    #expect(try MeasurementStore(damaged).upcoming().isEmpty)
    // The present pair once more is none, either.
    let again = ModelFolder(holding: [
      MeasurementStore.fileName: try Sample.pair(1).bytes,
      "measurement.up1": try Sample.pair(1).bytes,
    ])
    #expect(try MeasurementStore(again).upcoming().isEmpty)
  }
}

extension MeasurementStore {
  /// Stores the pairs of a fetch's result.
  fileprivate func save(
    _ tokens: [HardwareTokens], of result: FetchResult
  ) throws {
    guard let config = result.measurementConfig, let instance = result.instance else {
      throw MeasurementStoreError.empty
    }
    try save(tokens, under: config, of: instance, with: result.upcoming)
  }
}
