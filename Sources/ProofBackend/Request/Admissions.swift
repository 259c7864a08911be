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
/// The number of entries is bounded. When one half is full, the other half is dropped: the entries
/// that no request used since the last exchange. A dropped installation sends its token again.
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

  private let half: Int
  private let state = CoreLock(State())

  init(capacity: Int) { half = max(1, capacity / 2) }

  /// How many entries there are.
  var count: Int { state.withLock { $0.young.count + $0.old.count } }

  /// The entry of a handle, and the highest count that was seen for a start; 0 for none.
  func find(_ handle: GateHandle, start: UInt32? = nil) -> (entry: Entry, newest: UInt32)? {
    state.withLock { state in
      guard let held = Self.held(handle, &state, half) else { return nil }
      return (held.entry, held.start == start ? held.newest : 0)
    }
  }

  func put(_ entry: Entry, for handle: GateHandle) {
    state.withLock { state in
      let held = Self.held(handle, &state, half)
      Self.put(
        Held(entry: entry, start: held?.start ?? 0, newest: held?.newest ?? 0), handle, &state,
        half)
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

  private static func held(_ handle: GateHandle, _ state: inout State, _ half: Int) -> Held? {
    if let held = state.young[handle] { return held }
    guard let held = state.old.removeValue(forKey: handle) else { return nil }
    put(held, handle, &state, half)
    return held
  }

  private static func put(
    _ held: Held, _ handle: GateHandle, _ state: inout State, _ half: Int
  ) {
    if state.young[handle] == nil, state.young.count >= half {
      state.old = state.young
      state.young = [:]
    }
    state.old[handle] = nil
    state.young[handle] = held
  }
}
