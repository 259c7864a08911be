import Dispatch
import Foundation
import OwnThreads
import ProofModel
import SeededRandom
import Synchronization
import Testing

@testable import ProofService

@Suite struct SQLiteStoreTests {
  @Test func `everything is there after a restart`() throws {
    let place = Workplace()
    let salt = Salt.random()
    let device = try DeviceID([UInt8](repeating: 4, count: 16))
    do {
      let store = try SQLiteStore(creatingAt: place.path(of: "store"))
      try store.apply([.insert(.api, "a", [1])])
      _ = try store.advance("n", by: 9)
      let used = Salt.random()
      try store.keep(PendingSalt(used, expiry: 1, note: []))
      _ = try store.use(used, for: DeviceSighting(device, at: 5, generation: 2, note: [3]))
      try store.keep(PendingSalt(salt, expiry: 7, note: [8]))
    }
    let store = try SQLiteStore(at: place.path(of: "store"))
    #expect(try store.row("a", of: .api) == [1])
    #expect(try store.advance("n", by: 0) == 9)
    #expect(try store.pending(salt)?.note == [8])
    #expect(try store.device(device)?.generation == 2)
    #expect(try store.counts().salts == 1)
  }

  @Test func `two who have one file open see each other's changes`() throws {
    let place = Workplace()
    let one = try SQLiteStore(creatingAt: place.path(of: "store"))
    let other = try SQLiteStore(at: place.path(of: "store"))
    let revision = try other.revision()
    try one.apply([.insert(.api, "a", [1])])
    #expect(try other.row("a", of: .api) == [1])
    #expect(try other.revision() > revision)
    let salt = Salt.random()
    try one.keep(PendingSalt(salt, expiry: 1, note: []))
    #expect(try other.use(salt, for: nil))
    #expect(try one.use(salt, for: nil) == false)
  }

  @Test func `threads that write while another writes share one transaction`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    let queue = WriteQueue(try SQLiteConnection(path: path, patience: 0))
    let order = Mutex<[Int]>([])
    onThreads(9) { thread in
      if thread == 0 {
        // Holds the connection until all the others wait.
        _ = try! queue.run(
          WriteJob(mustLast: true) { _ throws(StoreError) in
            while queue.counts.waiting < 8 { sched_yield() }
            return .done
          })
      } else {
        while queue.counts.transactions == 0 { sched_yield() }
        _ = try! queue.run(
          WriteJob(mustLast: true) { _ throws(StoreError) in
            order.withLock { $0.append(thread) }
            return .done
          })
      }
    }
    #expect(queue.counts.transactions == 2)
    #expect(order.withLock { $0.sorted() } == Array(1...8))
  }

  /// Lets `body` run while another job holds the connection; returns when that job is over.
  private func whileBusy(
    _ queue: WriteQueue, _ body: @escaping @Sendable () -> Void
  ) {
    let isOver = Atomic(false)
    onThreads(2) { thread in
      if thread == 0 {
        _ = try! queue.run(
          WriteJob(mustLast: true) { _ throws(StoreError) in
            while !isOver.load(ordering: .acquiring) { sched_yield() }
            return .done
          })
      } else {
        while queue.counts.transactions == 0 { sched_yield() }
        body()
        isOver.store(true, ordering: .releasing)
      }
    }
  }

  private func queue(in place: Workplace) throws -> WriteQueue {
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    return WriteQueue(try SQLiteConnection(path: path, patience: 0))
  }

  @Test func `a job that is left while another writes is done by that one's thread`() throws {
    let place = Workplace()
    let queue = try queue(in: place)
    let events = Mutex<[String]>([])
    whileBusy(queue) {
      try! queue.leave(
        WriteJob(settled: { events.withLock { $0.append("settled") } }) { _ throws(StoreError) in
          events.withLock { $0.append("done") }
          return .done
        })
      events.withLock { $0.append("left") }
    }
    #expect(events.withLock { $0 } == ["left", "done", "settled"])
    #expect(queue.counts == (0, 2, 1))
  }

  @Test func `a left job's failure is told once, to the caller that leaves the next job`() throws {
    let place = Workplace()
    let queue = try queue(in: place)
    @Sendable func job(_ failure: StoreError? = nil) -> WriteJob {
      WriteJob(settled: {}) { _ throws(StoreError) in
        if let failure { throw failure }
        return .done
      }
    }
    whileBusy(queue) { try! queue.leave(job(.full(path: "store"))) }
    #expect(throws: StoreError.full(path: "store")) { try queue.leave(job()) }
    try queue.leave(job())
    #expect(throws: StoreError.full(path: "store")) { try queue.leave(job(.full(path: "store"))) }
    try queue.leave(job())
  }

  @Test func `a salt is found at once although another process writes, and in the file afterwards`()
    throws
  {
    let place = Workplace()
    let path = place.path(of: "store")
    let store = try SQLiteStore(creatingAt: path)
    let other = try SQLiteConnection(path: path, patience: 5_000)
    let salt = Salt.random()
    try other.run(.begin)
    let before = store.transactions.all
    let isKept = Atomic(false)
    onThreads(2) { thread in
      if thread == 0 {
        // Waits for the other process; what is left meanwhile is left to it.
        try! store.apply([.insert(.api, "a", [])])
      } else {
        while store.transactions.all == before { sched_yield() }
        try! store.keep(PendingSalt(salt, expiry: 1, note: [7]))
        isKept.store(try! store.pending(salt)?.note == [7], ordering: .releasing)
        try! other.run(.commit)
      }
    }
    let wasKept = isKept.load(ordering: .acquiring)
    #expect(wasKept)
    #expect(try SQLiteStore(at: path).pending(salt)?.note == [7])
    #expect(try store.use(salt, for: nil))
    #expect(try store.pending(salt) == nil)
  }

  @Test func `a salt that could not be kept is not found, and takes no memory`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    let store = try SQLiteStore(creatingAt: path)
    let other = try SQLiteConnection(path: path, patience: 5_000)
    try other.run(.begin)
    let before = store.transactions.all
    onThreads(2) { thread in
      if thread == 0 {
        try! store.apply([.insert(.api, "a", [])])
      } else {
        while store.transactions.all == before { sched_yield() }
        // Left to the other thread, which will find no table for it.
        try! store.keep(PendingSalt(Salt.random(), expiry: 1, note: []))
        try! other.execute("DROP TABLE salt")
        try! other.run(.commit)
      }
    }
    let salt = Salt.random()
    #expect(throws: StoreError.self) { try store.keep(PendingSalt(salt, expiry: 1, note: [])) }
    #expect((try? store.pending(salt)) == nil)
  }

  @Test func `while another process writes so many salts are left, and the next one waits`()
    throws
  {
    let place = Workplace()
    let path = place.path(of: "store")
    let store = try SQLiteStore(creatingAt: path)
    let other = try SQLiteConnection(path: path, patience: 5_000)
    let last = Salt.random()
    try other.run(.begin)
    let before = store.transactions.all
    let isFull = Atomic(false)
    let isLeft = Atomic(false)
    onThreads(3) { thread in
      if thread == 0 {
        try! store.apply([.insert(.api, "a", [])])
      } else if thread == 1 {
        while store.transactions.all == before { sched_yield() }
        for _ in 0..<WriteQueue.leftMax {
          try! store.keep(PendingSalt(Salt.random(), expiry: 1, note: []))
        }
        isFull.store(true, ordering: .releasing)
        // A salt that is left is found before it is in the file.
        for _ in 0..<1_000 {
          if try! store.pending(last) != nil { isLeft.store(true, ordering: .releasing) }
          sched_yield()
        }
        try! other.run(.commit)
      } else {
        while !isFull.load(ordering: .acquiring) { sched_yield() }
        try! store.keep(PendingSalt(last, expiry: 1, note: []))
      }
    }
    let wasLeft = isLeft.load(ordering: .acquiring)
    #expect(!wasLeft)
    #expect(try store.pending(last) != nil)
  }

  @Test func `a start checks no more than so much of a store`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    do {
      let store = try SQLiteStore(creatingAt: path)
      let row = [UInt8](repeating: 1, count: 100_000)
      try store.apply((0..<100).map { .insert(.deviceString, "\($0)", row) })
    }
    // Damage in the last page, far beyond what is checked: no start waits for the way there.
    var bytes = try place.bytes(of: "store")
    #expect(bytes.count > Int(SQLiteStore.checkedPagesMax) * 4_096)
    for index in bytes.count - 4_096..<bytes.count { bytes[index] ^= 0x55 }
    try place.write(bytes, to: "store")
    let store = try SQLiteStore(at: path)
    #expect(try store.rows(of: .api) == [])
    try place.write(Array(bytes.dropLast(4_096)), to: "store")
    #expect(throws: StoreError.self) { try SQLiteStore(at: path) }
  }

  @Test func `what must last is committed with synchronous FULL, in a file in WAL mode`() throws {
    let place = Workplace()
    let queue = try queue(in: place)
    @Sendable func level(_ connection: SQLiteConnection) throws(StoreError) -> WriteJob.Result {
      .count(UInt64(try connection.number("PRAGMA synchronous")))
    }
    for (mustLast, expected) in [(true, 2), (false, 1), (true, 2), (true, 2), (false, 1)] {
      let result = try queue.run(WriteJob(mustLast: mustLast, level))
      guard case .count(let found) = result else { continue }
      #expect(found == expected)
    }
    #expect(queue.counts == (0, 5, 3))
    let connection = try SQLiteConnection(path: place.path(of: "store"), patience: 0)
    #expect(try connection.text("PRAGMA journal_mode") == "wal")
  }

  @Test func `a used salt, a registration and a count wait for the disk, a kept salt does not`()
    throws
  {
    let place = Workplace()
    let store = try SQLiteStore(creatingAt: place.path(of: "store"))
    let salt = Salt.random()
    let device = try DeviceID([UInt8](repeating: 1, count: 16))
    let steps: [(Int, () throws -> Void)] = [
      (0, { try store.keep(PendingSalt(salt, expiry: 9, note: [])) }),
      (1, { _ = try store.use(salt, for: DeviceSighting(device, at: 1, note: [])) }),
      (1, { try store.apply([.insert(.registration, "app", [])]) }),
      (1, { _ = try store.advance("tokens", by: 1) }),
      (0, { try store.dropSalts(expiredBefore: 5) }),
    ]
    for (index, (expected, step)) in steps.enumerated() {
      let before = store.transactions
      try step()
      #expect(store.transactions.all == before.all + 1, "step \(index)")
      #expect(store.transactions.lasting == before.lasting + expected, "step \(index)")
    }
  }

  @Test func `the file is for its owner alone`() throws {
    let place = Workplace()
    let store = try SQLiteStore(creatingAt: place.path(of: "store"))
    try store.apply([.insert(.api, "a", [])])
    for name in ["store", "store-wal", "store-shm"] {
      #expect(try place.mode(of: name) == 0o600, "\(name)")
    }
  }

  @Test func `an empty file that others may read is no place for a store`() throws {
    let place = Workplace()
    try place.write([], to: "store")
    let path = place.path(of: "store")
    unsafe chmod(path, 0o640)
    #expect(throws: StoreError.self) { try SQLiteStore(creatingAt: path) }
    // Foundation loses a page of memory whenever it reads an empty file.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.size] as? Int == 0)
    unsafe chmod(path, 0o600)
    _ = try SQLiteStore(creatingAt: path)
  }

  @Test func `no store, a foreign file, a newer one and a damaged one are told apart`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    #expect(throws: StoreError.missing(path: path)) { try SQLiteStore(at: path) }
    try place.write(Array("not a database, but long enough to be looked at".utf8), to: "store")
    #expect(throws: StoreError.foreign(path: path)) { try SQLiteStore(at: path) }
    #expect(throws: StoreError.self) { try SQLiteStore(creatingAt: path) }
    #expect(try place.bytes(of: "store").count == 47)

    let newer = place.path(of: "newer")
    do { _ = try SQLiteStore(creatingAt: newer) }
    do { try SQLiteConnection(path: newer, patience: 0).execute("PRAGMA user_version = 9") }
    #expect(throws: StoreError.tooNew(path: newer, version: 9, known: 1)) {
      try SQLiteStore(at: newer)
    }

    let damaged = place.path(of: "damaged")
    do {
      let store = try SQLiteStore(creatingAt: damaged)
      let row = [UInt8](repeating: 1, count: 1000)
      for index in 0..<100 { try store.apply([.insert(.api, "\(index)", row)]) }
    }
    var bytes = try place.bytes(of: "damaged")
    for index in 8_192..<bytes.count where index % 4_096 < 512 { bytes[index] ^= 0x55 }
    try place.write(bytes, to: "damaged")
    let error = #expect(throws: StoreError.self) { try SQLiteStore(at: damaged) }
    guard case .damaged = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a file cut at any length is refused or whole, never a crash`() throws {
    let place = Workplace()
    do {
      let store = try SQLiteStore(creatingAt: place.path(of: "store"))
      for index in 0..<20 { try store.apply([.insert(.api, "\(index)", [1, 2, 3])]) }
    }
    let whole = try place.bytes(of: "store")
    for length in stride(from: 0, to: whole.count, by: 1_000) {
      try place.write(Array(whole[..<length]), to: "cut")
      // A cut through the unused end of the last page takes nothing away.
      guard let store = try? SQLiteStore(at: place.path(of: "cut")) else { continue }
      #expect(length > whole.count - 4_096, "\(length)")
      #expect(try store.rows(of: .api).count == 20, "\(length)")
    }
  }

  /// The child uses salts and registers apps from four threads, writes down what was confirmed, and
  /// is killed in the middle of it. Whatever it wrote down must be so afterwards.
  @Test(arguments: 1...8)
  func `killed at any moment: no salt is used twice, nothing confirmed is lost`(
    _ seed: Int
  ) async throws {
    let place = Workplace()
    let path = place.path(of: "store")
    var salts: [Salt] = []
    var generator = SeededGenerator(seed: UInt64(seed))
    do {
      let store = try SQLiteStore(creatingAt: path)
      for _ in 0..<400 {
        salts.append(.random(using: &generator))
        try store.keep(PendingSalt(salts.last!, expiry: .max, note: []))
      }
    }
    let life = Int.random(in: 20...350, using: &generator)
    let log = place.path(of: "log")
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, log = log as String, life = life as Int, seed = seed as Int] in
      let store = try SQLiteStore(at: path)
      var generator = SeededGenerator(seed: UInt64(seed))
      let salts = (0..<400).map { _ in Salt.random(using: &generator) }
      let descriptor = unsafe open(log, O_CREAT | O_WRONLY | O_APPEND, 0o600)
      let done = Atomic(0)
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for index in stride(from: thread, to: 400, by: 4) {
          let isUsed = try! store.use(salts[index], for: nil)
          try! store.apply([.insert(.registration, "\(index)", [1])])
          if isUsed {
            let line = Array("\(index)\n".utf8)
            precondition(unsafe write(descriptor, line, line.count) == line.count)
          }
          if done.wrappingAdd(1, ordering: .relaxed).newValue == life { kill(getpid(), SIGKILL) }
        }
      }
    }
    let confirmed = String(decoding: try place.bytes(of: "log"), as: UTF8.self)
      .split(separator: "\n").compactMap { Int($0) }
    #expect(confirmed.count >= life - 4, "seed \(seed), life \(life)")
    let store = try SQLiteStore(at: path)
    for index in confirmed {
      #expect(try store.use(salts[index], for: nil) == false, "seed \(seed), salt \(index)")
      #expect(try store.row("\(index)", of: .registration) == [1], "seed \(seed), row \(index)")
    }
  }
}
