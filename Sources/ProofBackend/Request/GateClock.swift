// SPDX-License-Identifier: Apache-2.0

package import ProofJOSE
import ProofModel
import Synchronization

/// The time of a verifier: the highest that it has seen, so that a clock that was set back brings nothing back.
package final class GateClock: Sendable {
  private let clock: UnixClock
  private let highest: Atomic<Int64>

  package init(_ clock: UnixClock, from highest: UnixTime) {
    self.clock = clock
    self.highest = Atomic(highest.seconds)
  }

  /// The time, in whole seconds.
  package var now: UnixTime {
    let seconds = max(0, clock.now.seconds)
    return UnixTime(
      seconds: highest.max(seconds, ordering: .sequentiallyConsistent).newValue)
  }
}

/// The start of a verifier: proofs that an earlier process may have accepted are refused, unless the store knows them.
package struct GateStart: Sendable {
  /// A proof counts if it was made after this second; none does if it is the last second of all. Nil if the store
  /// lacks nothing.
  private let floor: UnixTime?

  /// `isOfOneProcess`: whether the store is one process's own, so that nothing of another process may count.
  package init(_ memory: ReplayMemory, window: UInt32, isOfOneProcess: Bool = false) {
    floor = memory.gap.map { isOfOneProcess ? .last : $0 + window }
  }

  /// Whether an earlier process may have accepted a proof of this moment.
  package func mayHaveCounted(_ created: UnixTime) -> Bool { floor.map { created <= $0 } ?? false }
}

/// The beacons of one moment, made once in five minutes.
final class BeaconClock: Sendable {
  private struct Made {
    var interval: Int64 = -1
    var header = ""
    var headers: [String] = []
    var valid: ValidBeacons?
  }

  private let key: BeaconKey
  private let made = CoreLock(Made())

  init(_ key: BeaconKey) { self.key = key }

  /// The value of `Proof-Time`.
  func header(at now: UnixTime) -> String { made(at: now).header }

  /// The beacons that anchor a token.
  func valid(at now: UnixTime) -> ValidBeacons { made(at: now).valid ?? key.valid(at: now) }

  /// Whether a text is a valid beacon, as `Proof-Time` spells it.
  func isValid(_ text: Substring, at now: UnixTime) -> Bool {
    text.utf8.count == 12 && made(at: now).headers.contains { $0 == text }
  }

  private func made(at now: UnixTime) -> Made {
    made.withLock { made in
      if made.interval != now.seconds / 300 {
        let times: [UnixTime] = [now + 300, now, max(0, now - 300), max(0, now - 600)]
        made = Made(
          interval: now.seconds / 300, header: key.header(at: now), headers: times.map(key.header),
          valid: key.valid(at: now))
      }
      return made
    }
  }
}
