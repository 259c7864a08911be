// SPDX-License-Identifier: Apache-2.0

package import ProofJOSE
import ProofModel
import Synchronization

/// The time of a verifier: the highest that it has seen, so that a clock that was set back brings nothing back.
package final class GateClock: Sendable {
  private let clock: JOSEClock
  private let highest: Atomic<UInt64>

  package init(_ clock: JOSEClock, from highest: UInt64) {
    self.clock = clock
    self.highest = Atomic(highest)
  }

  /// Unix seconds.
  package var now: UInt64 {
    highest.max(UInt64(clamping: clock.now.seconds), ordering: .sequentiallyConsistent).newValue
  }
}

/// The start of a verifier: proofs that an earlier process may have accepted are refused, unless the store knows them.
package struct GateStart: Sendable {
  /// A proof counts if it was made after this Unix second; none does if it is the last second of all. Nil if the store
  /// lacks nothing.
  private let floor: UInt64?

  /// `isOfOneProcess`: whether the store is one process's own, so that nothing of another process may count.
  package init(_ memory: ReplayMemory, window: UInt32, isOfOneProcess: Bool = false) {
    floor = memory.gap.map { isOfOneProcess ? .max : $0 + UInt64(window) }
  }

  /// Whether an earlier process may have accepted a proof of this moment.
  package func mayHaveCounted(_ created: UInt64) -> Bool { floor.map { created <= $0 } ?? false }
}

/// The beacons of one moment, made once in five minutes.
final class BeaconClock: Sendable {
  private struct Made {
    var interval: UInt64 = .max
    var header = ""
    var headers: [String] = []
    var valid: ValidBeacons?
  }

  private let key: BeaconKey
  private let made = CoreLock(Made())

  init(_ key: BeaconKey) { self.key = key }

  /// The value of `Proof-Time`.
  func header(at now: UInt64) -> String { made(at: now).header }

  /// The beacons that anchor a token.
  func valid(at now: UInt64) -> ValidBeacons { made(at: now).valid ?? key.valid(at: now) }

  /// Whether a text is a valid beacon, as `Proof-Time` spells it.
  func isValid(_ text: Substring, at now: UInt64) -> Bool {
    text.utf8.count == 12 && made(at: now).headers.contains { $0 == text }
  }

  private func made(at now: UInt64) -> Made {
    made.withLock { made in
      if made.interval != now / 300 {
        let times = [now + 300, now, now - min(now, 300), now - min(now, 600)]
        made = Made(
          interval: now / 300, header: key.header(at: now), headers: times.map(key.header),
          valid: key.valid(at: now))
      }
      return made
    }
  }
}
