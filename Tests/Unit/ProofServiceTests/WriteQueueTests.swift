// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import OwnThreads
import ProofModel
import Synchronization
import Testing

@testable import ProofService

@Suite struct WriteQueueTests {
  private func queue(in place: Workplace) throws -> WriteQueue {
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    return WriteQueue(try SQLiteConnection(path: path, patience: 0))
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
            waitUntil { queue.counts.waiting >= 8 }
            return .done
          })
      } else {
        waitUntil { queue.counts.transactions > 0 }
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

  @Test func `jobs that no thread waits for share a transaction with one that a thread waits for`()
    throws
  {
    let place = Workplace()
    let queue = try queue(in: place)
    let told = Mutex<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    @Sendable func submit(_ number: Int) {
      queue.submit(
        WriteJob(
          mustLast: true,
          { (connection) throws(StoreError) in
            try connection.run(.advance, [SQLiteStore.revisionName, .integer(1)])
            return .count(UInt64(number))
          },
          { outcome in
            guard case .success(.count(let count)) = outcome else { return }
            told.withLock { $0.append(Int(count)) }
            done.signal()
          }))
    }
    // Holds the connection until all the others wait.
    _ = try queue.run(
      WriteJob(mustLast: true) { _ throws(StoreError) in
        for number in 0..<5 { submit(number) }
        #expect(told.withLock { $0 } == [])
        return .done
      })
    for _ in 0..<5 { done.wait() }
    #expect(told.withLock { $0 } == Array(0..<5))
    #expect(queue.counts == (0, 2, 2))
    // With no thread that waits, the queue writes by itself.
    submit(5)
    done.wait()
    #expect(queue.counts == (0, 3, 3))
    // A reader of its own finds what was told.
    let connection = try SQLiteConnection(path: place.path(of: "store"), patience: 0)
    #expect(try SQLiteStore.counter(SQLiteStore.revisionName, connection) == 6)
  }

  @Test func `an outcome is told after the commit, and a failure to each job of the transaction`()
    throws
  {
    let place = Workplace()
    let queue = try queue(in: place)
    let reader = CoreLock(try SQLiteConnection(path: place.path(of: "store"), patience: 0))
    let seen = Mutex<[UInt64]>([])
    let failures = Mutex(0)
    let done = DispatchSemaphore(value: 0)
    func job(failing: Bool) -> WriteJob {
      WriteJob(
        mustLast: true,
        { (connection) throws(StoreError) in
          try connection.run(.advance, [SQLiteStore.revisionName, .integer(1)])
          if failing { throw .failed(path: "", detail: "as the test wants") }
          return .done
        },
        { outcome in
          // Another connection sees nothing before the commit.
          let count = reader.withLock { connection in
            (try? SQLiteStore.counter(SQLiteStore.revisionName, connection)) ?? 0
          }
          seen.withLock { $0.append(count) }
          if case .failure = outcome { failures.withLock { $0 += 1 } }
          done.signal()
        })
    }
    _ = try queue.run(
      WriteJob(mustLast: true) { _ throws(StoreError) in
        queue.submit(job(failing: false))
        queue.submit(job(failing: false))
        return .done
      })
    for _ in 0..<2 { done.wait() }
    #expect(seen.withLock { $0 } == [2, 2])
    _ = try queue.run(
      WriteJob(mustLast: true) { _ throws(StoreError) in
        queue.submit(job(failing: false))
        queue.submit(job(failing: true))
        return .done
      })
    for _ in 0..<2 { done.wait() }
    #expect(failures.withLock { $0 } == 2)
    #expect(seen.withLock { $0 } == [2, 2, 2, 2])
  }

  @Test func `a queue that is let go tells each outcome first`() throws {
    for _ in 0..<50 {
      let place = Workplace()
      let told = Mutex(0)
      do {
        let queue = try queue(in: place)
        for _ in 0..<10 {
          queue.submit(
            WriteJob(
              mustLast: false, { _ throws(StoreError) in .done },
              { _ in told.withLock { $0 += 1 } }))
        }
      }
      #expect(told.withLock { $0 } == 10)
    }
  }

  @Test func `threads that wait and jobs that do not never write at once`() throws {
    let place = Workplace()
    let queue = try queue(in: place)
    let inside = Mutex((now: 0, most: 0))
    let told = DispatchSemaphore(value: 0)
    @Sendable func body(_: SQLiteConnection) throws(StoreError) -> WriteJob.Result {
      inside.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
      }
      sched_yield()
      inside.withLock { $0.now -= 1 }
      return .done
    }
    onThreads(6) { thread in
      for _ in 0..<100 {
        if thread.isMultiple(of: 2) {
          _ = try! queue.run(WriteJob(mustLast: false, body))
        } else {
          queue.submit(WriteJob(mustLast: false, body, { _ in told.signal() }))
        }
      }
    }
    for _ in 0..<300 { told.wait() }
    #expect(inside.withLock { $0.most } == 1)
    #expect(queue.counts.waiting == 0)
  }

  @Test func `durable changes are committed with synchronous FULL, in a file in WAL mode`() throws {
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
}
