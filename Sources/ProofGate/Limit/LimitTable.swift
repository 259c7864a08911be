// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// Counts uses of names by rates, in fixed memory.
///
/// Each name has a bucket: it is full at first, each use takes one, and it fills by the rate. The state of a bucket is
/// one moment, the one at which it is full again (the generic cell rate algorithm), so an entry has 16 bytes. A full
/// table gives up the bucket that is the fullest. A name is never refused for another one's uses.
final class LimitTable: Sendable {
  /// How many names have a bucket at the same time.
  let capacity: Int
  /// When the bucket of a name is full again, in microseconds.
  private let state: CoreLock<NameTable<UInt64>>

  /// Makes a table.
  ///
  /// - Parameter capacity: How many names have a bucket at the same time; a power of two, at least 8.
  init(capacity: Int) {
    self.capacity = capacity
    state = CoreLock(NameTable(capacity: capacity, first: 0))
  }

  /// The bytes that the entries have.
  var byteCount: Int { NameTable<UInt64>.byteCount(of: capacity) }

  /// How many buckets were given up before they were full.
  var forgotten: UInt64 { state.withLock { $0.forgotten } }

  /// Takes one from a name's bucket.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - limit: The rate.
  ///   - now: A time in microseconds.
  /// - Returns: Nil if the bucket had one; otherwise the microseconds until it has one.
  func wait(of name: HashedName, _ limit: RouteLimit, at now: UInt64) -> UInt64? {
    let span = limit.unit.microseconds
    let step = max(1, span / UInt64(limit.count))
    return state.withLock { moments in
      let place = moments.place(of: name) { $0 > now ? $0 - now : 0 }
      // A clock that was set back must not keep a bucket empty for longer than it takes to fill it.
      let held = min(max(moments[place], now), now + span)
      let full = held + step
      moments[place] = full <= now + span ? full : held
      return full <= now + span ? nil : full - now - span
    }
  }
}
