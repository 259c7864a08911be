// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Dispatch
import Foundation
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// Values of the store, the thread that writes, and the files that a move leaves.
@Suite struct StoreValueTests {
  @Test func `marks stand in a ring of 64 minutes, by their salt's end`() throws {
    #expect(SpentRing.slotCount == 64)
    for (seconds, minute, slot) in [
      (-61, 0, 0), (0, 0, 0), (59, 0, 0), (60, 1, 1), (3_839, 63, 63), (3_840, 64, 0),
      (1_800_000_000, 30_000_000, 0),
    ] as [(Int64, Int64, Int)] {
      #expect(SpentRing.minute(of: UnixTime(seconds: seconds)) == minute)
      #expect(SpentRing.slot(of: minute) == slot)
    }
    // The second of the end first, then the noise: docs/SERVICE.md, section 4.
    let salt = try Salt((0..<Salt.byteCount).map { UInt8($0 + 1) })
    #expect(SpentRing.place(of: salt) == 1 << 16 | 8 << 8 | 7)
  }

  @Test func `a mark gives its answer to the same report alone, and none that was never sent`() {
    let (one, two) = (Digest(hashing: [1]), Digest(hashing: [2]))
    #expect(SpentMark(one, answer: [7]).outcome(for: one) == .again([7]))
    #expect(SpentMark(one, answer: [7]).outcome(for: two) == .stale)
    #expect(SpentMark(one, answer: []).outcome(for: one) == .stale)
  }

  @Test func `a job that no thread waits for is written by the queue's own thread`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    let queue = WriteQueue(try SQLiteConnection(path: path, patience: 0))
    let writers = Mutex<[Bool]>([])
    let done = DispatchSemaphore(value: 0)
    let caller = pthread_self()
    for _ in 0..<3 {
      queue.submit(
        WriteJob(
          mustLast: false,
          { _ throws(StoreError) in
            writers.withLock { $0.append(pthread_equal(pthread_self(), caller) != 0) }
            return .done
          }, { _ in done.signal() }))
      done.wait()
    }
    #expect(writers.withLock { $0 } == [false, false, false])
  }

  @Test func `a move removes what an earlier one left, and leaves nothing but the account`() throws
  {
    let place = Workplace()
    do { _ = try SQLiteStore(creatingAt: place.path(of: "first")) }
    for name in ["last.moving", "last.moving-journal", "last.moving-wal", "last.moving-shm"] {
      try place.write([1], to: name)
    }
    let move = try StoreMove(
      from: .file(place.path(of: "first")), to: .file(place.path(of: "last")))
    #expect(try move.move(("name", [])).sum != nil)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
    #expect(!names.contains { $0.contains("moving") } && names.contains("last"))
    #expect(try place.mode(of: "last") == 0o600)
  }

  @Test func `a moved account has each row, counter, device and line of before`() throws {
    let place = Workplace()
    let (id, gate) = (try InstanceID([UInt8](1...16)), GateID.random())
    do {
      let store = try SQLiteStore(creatingAt: place.path(of: "first"))
      try store.apply([.put(.api, "a", [1]), .put(.pin, "b", [2])])
      #expect(try store.advance("count", by: 7) == 0)
      for gate in [nil, gate] {
        #expect(
          try Spender(store: store).see(id, generation: 3, must: true, gate: gate, note: [4])
            == .used)
      }
    }
    let move = try StoreMove(
      from: .file(place.path(of: "first")), to: .file(place.path(of: "last")))
    let sum = try #require(try move.move(("name", [])).sum)
    #expect(sum.counts[0] == 2 && sum.counts[2] == 1 && sum.counts[3] == 1 && sum.counts[1] >= 2)
    #expect(sum.rows == [.api: 1, .pin: 1])
    let store = try SQLiteStore(at: place.path(of: "last"))
    #expect(try store.row("a", of: .api) == [1] && store.row("b", of: .pin) == [2])
    #expect(try store.advance("count", by: 1) == 7 && store.revision() == 1)
    let device = try #require(try store.device(id))
    #expect(device.generation == 3 && device.note == [4] && device.version == 2)
    #expect(try store.generation(of: id, at: gate) == 3 && store.counts().devices == 1)
  }

  @Test func `each step of an attestation raises its own counter`() throws {
    let bench = try Bench(policy: [.rejectionReasons: "on"])
    func counts() -> [Int] {
      [.challenges, .parsed, .firstFetches, .passed, .failed, .staleReports].map {
        bench.service.metrics[$0]
      }
    }
    #expect(counts() == [0, 0, 0, 0, 0, 0])
    let challenge = try bench.challenge(bench.app)
    #expect(counts() == [1, 0, 0, 0, 0, 0])
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    _ = try bench.send(report, challenge.draft.salt, bench.app)
    #expect(counts() == [1, 1, 1, 1, 0, 0])
    try bench.management.set(.fail, for: bench.app.device)
    _ = try bench.attest(bench.app)
    #expect(counts() == [2, 2, 1, 1, 1, 0])
    let late = try bench.challenge(bench.app)
    let stale = try bench.app.report(.init(.token, name: Bench.api), answering: late)
    bench.clock.advance(by: 3_600)
    _ = try bench.send(stale, late.draft.salt, bench.app)
    #expect(counts() == [3, 2, 1, 1, 1, 1])
  }
}
