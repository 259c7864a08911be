// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofLink
import ProofModel
import Testing

/// A clock on which time passes only while a set number of sleeps last: then the earliest ends.
private final class EventClock: Clock {
  typealias Instant = StillClock.Instant

  private struct Sleeper {
    let number: Int
    let end: Duration
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Duration.zero
    var count = 0
    var cancelled: Set<Int> = []
    var sleepers: [Sleeper] = []
  }

  private let state = CoreLock(State())
  private let together: Int

  /// - Parameter together: So many sleeps last when time passes.
  init(together: Int) { self.together = together }

  var now: Instant { Instant(offset: state.withLock { $0.now }) }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock {
      $0.count += 1
      return $0.count
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let sleeper = Sleeper(number: number, end: deadline.offset, continuation: continuation)
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(number) != nil { return true }
          state.sleepers.append(sleeper)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        passTime()
      }
    } onCancel: {
      let sleeper: Sleeper? = state.withLock { state in
        guard let index = state.sleepers.firstIndex(where: { $0.number == number }) else {
          state.cancelled.insert(number)
          return nil
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  private func passTime() {
    let earliest: Sleeper? = state.withLock { state in
      guard state.sleepers.count >= together,
        let index = state.sleepers.indices.min(by: {
          state.sleepers[$0].end < state.sleepers[$1].end
        })
      else { return nil }
      let earliest = state.sleepers.remove(at: index)
      state.now = max(state.now, earliest.end)
      return earliest
    }
    earliest?.continuation.resume()
  }
}

/// Hardware that lets a newcomer wait until its turn comes: what is sent before reaches it then. A link
/// that ends loses its place in the queue.
private final class QueueTransport: LinkTransport {
  let admission: Duration
  private let bench: BenchTransport
  private let clock: EventClock
  private let turn: Duration
  private let openings = CoreLock(0)

  init(_ bench: BenchTransport, _ clock: EventClock, turn: Duration, admission: Duration) {
    self.bench = bench
    self.clock = clock
    self.turn = turn
    self.admission = admission
  }

  var openingCount: Int { openings.withLock { $0 } }

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    openings.withLock { $0 += 1 }
    return QueueChannel(try await bench.open(), clock, turn)
  }
}

private final class QueueChannel: LinkChannel {
  private enum Turn {
    case none
    case waiting(Task<Void, Never>, [[UInt8]])
    case come
  }

  let received: AsyncStream<[UInt8]>
  private let channel: any LinkChannel
  private let clock: EventClock
  private let time: Duration
  private let turn = CoreLock(Turn.none)

  init(_ channel: any LinkChannel, _ clock: EventClock, _ time: Duration) {
    self.channel = channel
    self.clock = clock
    self.time = time
    received = channel.received
  }

  /// The wait begins with the first PDU, not with the link: by then the connection has replaced the timer
  /// of the connecting by the timer of the answer. Begun earlier, the wait could last beside a timer that
  /// is about to be replaced, and time would pass too soon.
  func send(_ pdu: [UInt8]) {
    let mayPass = turn.withLock { turn in
      switch turn {
      case .none: turn = .waiting(wait(), [pdu])
      case .waiting(let task, let sent): turn = .waiting(task, sent + [pdu])
      case .come: return true
      }
      return false
    }
    if mayPass { channel.send(pdu) }
  }

  private func wait() -> Task<Void, Never> {
    Task { [weak self, clock, time] in
      guard (try? await clock.sleep(for: time)) != nil else { return }
      self?.come()
    }
  }

  private func come() {
    turn.withLock { turn in
      guard case .waiting(_, let sent) = turn else { return }
      for pdu in sent { channel.send(pdu) }
      turn = .come
    }
  }

  func close() {
    turn.withLock { turn in
      if case .waiting(let task, _) = turn { task.cancel() }
    }
    channel.close()
  }
}

extension BenchTests {
  /// A lock lets newcomers wait (LINK.md, section 7): an owner behind 12 of them has a link within 8
  /// seconds.
  @Suite("Behind other centrals")
  struct AdmissionTests {
    /// The call's deadline, the link's timer and the queue's turn.
    private static let together = 3

    /// The result of a command, and the number of links.
    private func sent(
      turn: Duration, admission: Duration
    ) async throws -> (result: Result<Verdict, LinkError>, openings: Int) {
      let bench = try Bench(seed: 4)
      let clock = EventClock(together: Self.together)
      let stage = try Stage(bench)
      let queue = QueueTransport(stage.transport, clock, turn: turn, admission: admission)
      let door = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: queue,
        memory: HeardMemory(), clock: clock)
      do throws(LinkError) {
        let receipt = try await door.send(Stage.open)
        return (.success(receipt.verdict), queue.openingCount)
      } catch {
        return (.failure(error), queue.openingCount)
      }
    }

    @Test("a connection keeps its place until its turn comes", arguments: [2, 4, 6, 8])
    func keepsItsPlace(seconds: Int) async throws {
      let (result, openings) = try await sent(
        turn: .seconds(seconds), admission: PipeTransport(.socket("lock.sock")).admission)
      #expect(result == .success(.accepted))
      #expect(openings == 1)
    }

    @Test("one that waits for less loses its place again and again, and is never served")
    func losesItsPlace() async throws {
      let (result, openings) = try await sent(turn: .seconds(4), admission: .zero)
      #expect(result != .success(.accepted))
      #expect(openings > 1)
    }

    @Test("a pair of FIFOs and a radio have no queue, so a lost request is found out as before")
    func withoutQueue() {
      #expect(PipeTransport(.fifos(to: "a", from: "b")).admission == .zero)
      #expect(PipeTransport(.socket("air"), admission: .seconds(1)).admission == .seconds(1))
      struct Radio: LinkTransport {
        func open() async throws(LinkUnavailable) -> any LinkChannel {
          throw LinkUnavailable("off")
        }
      }
      #expect(Radio().admission == .zero)
    }
  }
}
