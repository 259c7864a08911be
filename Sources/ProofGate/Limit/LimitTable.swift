// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Counts uses of names by rates, in fixed memory.
///
/// Each name has a bucket: it is full at first, each use takes one, and it fills by the rate. The state of a bucket is
/// one moment, the one at which it is full again (the generic cell rate algorithm), so an entry has 16 bytes. Entries
/// stand in rows of eight. A full row gives up the entry whose bucket is the fullest: it has the least to forget, and a
/// flood of new names forgets its own. A name is never refused for another one's uses.
final class LimitTable: Sendable {
  private static let rowCount = 8

  private struct Entry {
    var name: UInt64 = 0
    /// When the bucket is full again, in microseconds.
    var full: UInt64 = 0
  }

  private struct State {
    var entries: [Entry]
    var forgotten: UInt64 = 0
  }

  /// How many names have a bucket at the same time.
  let capacity: Int
  private let mask: Int
  private let state: CoreLock<State>

  /// Makes a table.
  ///
  /// - Parameter capacity: How many names have a bucket at the same time; a power of two, at least 8.
  init(capacity: Int) {
    precondition(capacity >= Self.rowCount && capacity & (capacity - 1) == 0)
    self.capacity = capacity
    mask = capacity / Self.rowCount - 1
    state = CoreLock(State(entries: [Entry](repeating: Entry(), count: capacity)))
  }

  /// The bytes that the entries have.
  var byteCount: Int { capacity * MemoryLayout<Entry>.stride }

  /// How many buckets were given up before they were full.
  var forgotten: UInt64 { state.withLock { $0.forgotten } }

  /// Takes one from a name's bucket.
  ///
  /// - Parameters:
  ///   - name: A keyed hash of the name: an attacker must not be able to choose a row.
  ///   - limit: The rate.
  ///   - now: A time in microseconds.
  /// - Returns: Nil if the bucket had one; otherwise the microseconds until it has one.
  func wait(of name: UInt64, _ limit: RouteLimit, at now: UInt64) -> UInt64? {
    let span = limit.unit.microseconds
    let step = max(1, span / UInt64(limit.count))
    // Zero marks a place without an entry.
    let name = max(1, name)
    return state.withLock { state in
      let row = Int(truncatingIfNeeded: name >> 32) & mask
      let places = row * Self.rowCount..<(row + 1) * Self.rowCount
      var place = places.lowerBound
      for other in places {
        if state.entries[other].name == name {
          place = other
          break
        }
        if state.entries[other].full < state.entries[place].full { place = other }
      }
      let isOwn = state.entries[place].name == name
      if !isOwn, state.entries[place].full > now { state.forgotten += 1 }
      // A clock that was set back must not keep a bucket empty for longer than it takes to fill it.
      let held = isOwn ? min(max(state.entries[place].full, now), now + span) : now
      let full = held + step
      guard full <= now + span else {
        state.entries[place].full = held
        return full - now - span
      }
      state.entries[place] = Entry(name: name, full: full)
      return nil
    }
  }
}
