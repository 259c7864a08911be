// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofMigration
import ProofModel
import SeededRandom
import Testing

@testable import ProofKit

@Suite("Kept admissions")
final class GateStoreTests {
  let folder = "/var/tmp/proofkit-gate-\(UInt64.random(in: 1 ... .max))"

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test("a hundred renewals leave the pair that opens locks, and its generation, as they were")
  func renewals() throws {
    let store = try MeasurementStore(folder: folder)
    let pair = try Sample.pair(7)
    try store.save(pair)
    let before = try Data(contentsOf: URL(fileURLWithPath: folder + "/measurement"))
    let stage = try GateStage(store: GateStore(folder: folder))
    for number in 1...100 {
      _ = try stage.session.guarded(stage.request)
      let next = try stage.due()
      stage.time.advance(next - stage.time.clock.uptime())
      _ = try stage.session.guarded(stage.request)
      _ = stage.session.work()
      #expect(stage.asked == number + 1)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/measurement")) == before)
    #expect(try store.load() == pair)
    #expect(try files().filter { $0.hasPrefix("gate-") }.count == 1)
    // The result of a fetch for a gate cannot be stored as a pair.
    let api = try #require(APIAuthority("api.example.com"))
    let result = stage.stage.attestor.fetchAdmission(to: api, Cancellation())
    #expect(result.admitted != nil && result.measurementConfig == nil && result.instance == nil)
    #expect(throws: MeasurementStoreError.self) { try StoredMeasurement(result) }
  }

  @Test("the next start proves without any network, in the life that is left")
  func restart() throws {
    let first = try GateStage(store: GateStore(folder: folder))
    let sent = try first.session.guarded(first.request)
    let service = InProcessService(issuer: first.service.issuer)
    let second = try GateStage(store: GateStore(folder: folder), service, isStarted: false)
    second.service.set { $0.failure = .unreachable("x") }
    second.time.advance(.seconds(1_000))
    _ = second.session.begin(nil)
    let next = try second.due()
    #expect(second.asked == 0)
    #expect((next - second.time.clock.uptime()).components.seconds == 1_880)
    let token = try first.gate.check(
      second.session.guarded(second.request), secret: first.gate.open(sent))
    #expect(token.count == 1)
  }

  @Test("an admission whose life is over, or that was made later than now, does not count")
  func expired() throws {
    _ = try GateStage(store: GateStore(folder: folder))
    for seconds in [3_600, 100_000, -1] as [Int64] {
      let stage = try GateStage(store: GateStore(folder: folder), isStarted: false)
      stage.service.set { $0.failure = .unreachable("x") }
      stage.time.boot.withLock { $0 += seconds }
      _ = stage.session.begin(nil)
      _ = stage.session.work()
      #expect(!stage.session.isReady)
    }
  }

  @Test("an app that changed since does not use it")
  func changed() throws {
    _ = try GateStage(store: GateStore(folder: folder))
    let stage = try GateStage(store: GateStore(folder: folder), isStarted: false)
    stage.stage.scene.state.withLock { $0.looks[.app] = 1 }
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    #expect(stage.session.isReady && stage.asked == 1)
  }

  @Test("the file is open to this user alone, and a damaged one counts as none")
  func damage() throws {
    _ = try GateStage(store: GateStore(folder: folder))
    let name = try #require(try files().first { $0.hasPrefix("gate-") })
    let path = folder + "/" + name
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? Int) == 0o600)
    let good = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    let kept = try #require(GateStore.Kept(good))
    #expect(kept.bytes == good)
    var mutator = Mutator("kept admission")
    for _ in 0..<Mutator.rounds {
      let mutant = mutator.mutant(of: [good])
      #expect((GateStore.Kept(mutant) != nil) == (mutant == good))
      // The same under a check that is right: bytes that are taken have one spelling.
      let body = mutant.dropLast(32)
      let checked = body + Digest(hashing: Array("pfs1.admission..".utf8) + body).bytes
      if let read = GateStore.Kept(Array(checked)) { #expect(read.bytes == Array(checked)) }
    }
    // Fields that contradict each other under a check that is right.
    for place in [4, 5, 6, 8, 9, 12, 24, 40, 56, 700] {
      var bytes = Array(good.dropLast(32))
      bytes[place] ^= 0xFF
      bytes += Digest(hashing: Array("pfs1.admission..".utf8) + bytes).bytes
      let read = GateStore.Kept(bytes)
      #expect(read == nil || read?.bytes == bytes)
    }
    try Data(good.dropLast()).write(to: URL(fileURLWithPath: path))
    let stage = try GateStage(store: GateStore(folder: folder))
    #expect(stage.session.isReady && stage.asked == 1)
  }

  @Test("a folder that cannot be used is an error that waiting does not mend")
  func unusable() throws {
    try Data().write(to: URL(fileURLWithPath: folder))
    let stage = try GateStage(store: GateStore(folder: folder))
    let error = try #require(stage.session.lastError)
    guard case .storageUnusable = error else {
      Issue.record("\(error)")
      return
    }
    #expect(error.initializationCode == -2)
    #expect(try stage.session.eventToken(for: 3300).cause == .failed)
  }

  @Test("an older generation never takes the place of a newer one")
  func generations() throws {
    let store = GateStore(folder: folder)
    let stage = try GateStage(store: store)
    let api = try #require(APIAuthority("api.example.com"))
    let old = try #require(try store.read("acme", api))
    let next = try stage.due()
    stage.time.advance(next - stage.time.clock.uptime())
    _ = try stage.session.guarded(stage.request)
    _ = stage.session.work()
    let new = try #require(try store.read("acme", api))
    #expect(new.admitted.admission.generation > old.admitted.admission.generation)
    try store.write(old, "acme", api)
    #expect(try store.read("acme", api) == new)
  }
}
