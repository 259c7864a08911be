// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

/// A still clock whose present can be set.
private final class LateClock: Clock {
  private let still = StillClock()
  private let offset = CoreLock(Duration.zero)

  var now: StillClock.Instant { StillClock.Instant(offset: offset.withLock { $0 }) }
  var minimumResolution: Duration { still.minimumResolution }

  func set(_ time: Duration) { offset.withLock { $0 = time } }

  func sleep(until deadline: StillClock.Instant, tolerance: Duration?) async throws {
    let left = StillClock.Instant(offset: now.duration(to: deadline))
    try await still.sleep(until: left, tolerance: tolerance)
  }
}

extension BenchTests {
  @Suite("A connection's call at its end", .timeLimit(.minutes(5)))
  struct ConnectionEndTests {
    @Test("hardware that wants no more for as long as the call may last ends it")
    func busy() async throws {
      let bench = try Bench(seed: 14)
      let stage = try await Stage.busy(bench)
      let error = await #expect(throws: LinkError.self) {
        try await stage.connection().send(Stage.open, within: .seconds(7))
      }
      #expect(error?.reason == .busy && error?.whoCanMend == .wait(.seconds(7)))
      #expect(bench.done == 1)
    }

    @Test("after twelve lost links it goes on if time is left, and ends otherwise")
    func lost() async throws {
      for (seconds, isLost) in [(29, false), (30, true), (31, true)] {
        let bench = try Bench(seed: 15)
        let clock = LateClock()
        let stage = try Stage(bench) { number in
          // Each opening is carried, and the first PDU cuts its link.
          if number == 24 { clock.set(.seconds(seconds)) }
          return number <= 24 && number % 2 == 0 ? .cut : .carry
        }
        let door = HardwareConnection(
          to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: stage.transport,
          memory: HeardMemory(), clock: clock, options: .init(patience: Stage.patience))
        if isLost {
          await #expect(throws: LinkError(.linkLost)) {
            try await door.send(Stage.open, within: .seconds(30))
          }
          #expect(stage.transport.count == 24)
        } else {
          #expect(try await door.send(Stage.open, within: .seconds(30)).verdict == .accepted)
        }
        #expect(bench.done == (isLost ? 0 : 1))
      }
    }
  }
}
