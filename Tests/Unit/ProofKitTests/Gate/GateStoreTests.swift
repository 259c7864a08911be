// SPDX-License-Identifier: Apache-2.0

import DurableFiles
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

  /// An admission that a session has kept, and the API that it is for.
  private func kept() throws -> (GateStore, GateStore.Kept, APIAuthority) {
    let store = GateStore(folder: folder)
    _ = try GateStage(store: store)
    let api = try #require(APIAuthority("api.example.com"))
    return (store, try #require(try store.read("acme", api)), api)
  }

  @Test("the file has the layout of the page, and each field is read again")
  func layout() throws {
    let (_, first, api) = try kept()
    let kept = GateStore.Kept(
      admitted: first.admitted, obtained: UnixTime(seconds: 0x0807_0605_0403_0201))
    let config = kept.admitted.config.bytes
    let admission = kept.admitted.admission.bytes
    var expected = Array("PKGA".utf8) + [1, 0]
    expected += [UInt8(config.count & 0xFF), UInt8(config.count >> 8)]
    expected += [UInt8(admission.count & 0xFF), UInt8(admission.count >> 8), 0, 0]
    expected += [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    expected += kept.admitted.instance.bytes + kept.admitted.handle.bytes + config + admission
    expected += Digest(hashing: Array("pfs1.admission..".utf8) + expected).bytes
    #expect(kept.bytes == expected && GateStore.Kept(expected) == kept)
    #expect(GateStore.Kept(expected)?.obtained.seconds == 0x0807_0605_0403_0201)
    // The name begins the digest of account, line feed and host.
    let digest = Digest(hashing: Array("acme\napi.example.com".utf8)).description
    #expect(GateStore.fileName(of: "acme", at: api) == "gate-" + digest.prefix(16))
    #expect(try files() == ["gate-" + digest.prefix(16), "gate.lock"])
  }

  @Test("bytes too few or too many are no admission")
  func sizes() throws {
    let (_, kept, _) = try kept()
    for count in [0, 1, 4, 5, 31, 32, 56, 87, 88, 89] {
      #expect(GateStore.Kept(Array(kept.bytes.prefix(count))) == nil)
      let body = Array(kept.bytes.prefix(max(0, count - 32)))
      let check = Digest(hashing: Array("pfs1.admission..".utf8) + body).bytes
      #expect(GateStore.Kept(body + check) == nil)
    }
    #expect(GateStore.Kept(kept.bytes + [0]) == nil)
    #expect(
      GateStore.Kept.byteCountMax == 56 + MeasurementConfig.byteCountMax
        + GateAdmission.byteCountMax + 32)
    #expect(GateStore.Kept([UInt8](repeating: 0, count: GateStore.Kept.byteCountMax + 1)) == nil)
  }

  @Test("a folder that cannot be used is an error of reading and of writing, with its path")
  func errors() throws {
    let (store, kept, api) = try kept()
    try FileManager.default.removeItem(atPath: folder)
    try Data().write(to: URL(fileURLWithPath: folder))
    for body in [{ _ = try store.read("acme", api) }, { try store.write(kept, "acme", api) }] {
      let error = #expect(throws: GateError.self) { try body() }
      guard case .storageUnusable(let reason)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(reason.hasPrefix("\(folder): ") && reason.utf8.count > folder.utf8.count + 2)
    }
  }

  @Test("while another process writes, its admission counts, and nothing is written")
  func held() throws {
    let (store, kept, api) = try kept()
    let path = folder + "/" + GateStore.fileName(of: "acme", at: api)
    try FileManager.default.removeItem(atPath: path)
    let lock = try FolderLock(folder + "/gate.lock")
    try withExtendedLifetime(lock) {
      try store.write(kept, "acme", api)
      #expect(try store.read("acme", api) == nil)
    }
  }

  @Test("an older generation takes the place where instance or gate differs")
  func otherInstance() throws {
    let store = GateStore(folder: folder)
    let stage = try GateStage(store: store)
    let api = try #require(APIAuthority("api.example.com"))
    let old = try #require(try store.read("acme", api)).admitted
    func renew() throws -> GateStore.Kept {
      let next = try stage.due()
      stage.time.advance(next - stage.time.clock.uptime())
      _ = try stage.session.guarded(stage.request)
      _ = stage.session.work()
      return try #require(try store.read("acme", api))
    }
    _ = try renew()
    let moved = GateStore.Kept(
      admitted: Admitted(
        admission: old.admission, config: old.config, instance: .random(), handle: old.handle,
        serverTime: nil), obtained: 7)
    try store.write(moved, "acme", api)
    #expect(try store.read("acme", api) == moved)
    let newest = try renew()
    #expect(newest.admitted.admission.generation == 3)
    let other = try GateStage()
    let admitted = try #require(other.session.state.withLock { $0.held?.admitted })
    let foreign = GateStore.Kept(
      admitted: Admitted(
        admission: admitted.admission, config: admitted.config,
        instance: newest.admitted.instance, handle: admitted.handle, serverTime: nil),
      obtained: 7)
    #expect(admitted.admission.generation == 1)
    try store.write(foreign, "acme", api)
    #expect(try store.read("acme", api) == foreign)
    // The same generation with another time is written.
    let again = GateStore.Kept(admitted: foreign.admitted, obtained: 8)
    try store.write(again, "acme", api)
    #expect(try store.read("acme", api) == again)
  }

  @Test("an admission in the last second of its life counts, and a fresh one does")
  func inLife() throws {
    _ = try GateStage(store: GateStore(folder: folder))
    for seconds in [0, 3_599] as [Int64] {
      let stage = try GateStage(store: GateStore(folder: folder), isStarted: false)
      stage.service.set { $0.failure = .unreachable("x") }
      stage.time.boot.withLock { $0 += seconds }
      _ = stage.session.begin(nil)
      _ = stage.session.work()
      #expect(stage.session.isReady)
    }
  }

  @Test("a session whose admission cannot be kept works, and warns")
  func notKept() throws {
    let stage = try GateStage(store: GateStore(folder: folder), log: .warning, isStarted: false)
    let (gate, folder) = (stage.gate, folder)
    stage.service.set {
      $0.admit = {
        try FileManager.default.removeItem(atPath: folder)
        try Data().write(to: URL(fileURLWithPath: folder))
        return try gate.admission($0, $1, $2)
      }
    }
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    #expect(stage.session.isReady && stage.session.lastError == nil)
    let lines = stage.lines.withLock { $0 }
    #expect(lines.count == 1 && lines.first?.0 == .warning)
    #expect(lines.first?.1.contains(folder) == true)
  }

  @Test("a session that starts anew reads its admission again, and asks no service")
  func anew() throws {
    let stage = try GateStage(store: GateStore(folder: folder))
    #expect(stage.asked == 1)
    for _ in 1...2 {
      stage.session.stop()
      #expect(stage.session.begin(nil))
      _ = stage.session.work()
      #expect(stage.session.isReady && stage.asked == 1)
    }
  }
}
