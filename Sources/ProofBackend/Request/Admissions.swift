// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// One app installation that a verifier has opened a token of.
final class Admission: Sendable {
  let facts: GateFacts
  let keys: GateKeys
  let compact: CompactKeys
  /// The first bytes of the token's digest: the same token is not opened again.
  let token: UInt64

  init(_ facts: GateFacts, _ keys: GateKeys, token: UInt64) {
    self.facts = facts
    self.keys = keys
    compact = keys.compact
    self.token = token
  }
}

/// The installations that a verifier knows, by handle.
///
/// The entries stand in two generations of at most `capacity` each. A request moves its entry into
/// the young one. When an entry finds it full, it becomes the old one, and the entries of the old
/// one are dropped. So an entry stays while fewer than `capacity` other installations send
/// requests after it. A dropped installation sends its token or ticket again.
final class Admissions<Entry: Sendable>: Sendable {
  private struct Held {
    var entry: Entry
    /// The app's process that was seen last, and the highest count of a token of it.
    var start: UInt32 = 0
    var newest: UInt32 = 0
  }

  private struct State {
    var young: [GateHandle: Held] = [:]
    var old: [GateHandle: Held] = [:]
  }

  private let capacity: Int
  private let state = CoreLock(State())

  init(capacity: Int) { self.capacity = max(1, capacity) }

  /// How many entries there are.
  var count: Int { state.withLock { $0.young.count + $0.old.count } }

  /// The entry of a handle, and the highest count that was seen for a start; 0 for none.
  func find(_ handle: GateHandle, start: UInt32? = nil) -> (entry: Entry, newest: UInt32)? {
    state.withLock { state in
      guard let held = Self.held(handle, &state, capacity) else { return nil }
      return (held.entry, held.start == start ? held.newest : 0)
    }
  }

  func put(_ entry: Entry, for handle: GateHandle) {
    state.withLock { state in
      let held = Self.held(handle, &state, capacity)
      Self.put(
        Held(entry: entry, start: held?.start ?? 0, newest: held?.newest ?? 0), handle, &state,
        capacity)
    }
  }

  func remove(_ handle: GateHandle) {
    state.withLock { state in
      state.young[handle] = nil
      state.old[handle] = nil
    }
  }

  /// Notes the count of a token that was accepted.
  func note(_ handle: GateHandle, start: UInt32, count: UInt32) {
    state.withLock { state in
      guard var held = state.young[handle] else { return }
      if held.start != start || count > held.newest {
        held.start = start
        held.newest = count
        state.young[handle] = held
      }
    }
  }

  private static func held(_ handle: GateHandle, _ state: inout State, _ capacity: Int) -> Held? {
    if let held = state.young[handle] { return held }
    guard let held = state.old.removeValue(forKey: handle) else { return nil }
    put(held, handle, &state, capacity)
    return held
  }

  private static func put(
    _ held: Held, _ handle: GateHandle, _ state: inout State, _ capacity: Int
  ) {
    if state.young[handle] == nil, state.young.count >= capacity {
      state.old = state.young
      state.young = [:]
    }
    state.old[handle] = nil
    state.young[handle] = held
  }
}
