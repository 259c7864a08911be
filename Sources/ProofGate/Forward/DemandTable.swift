// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// The challenges that APIs asked for, until the client has answered or their time is over. Bounded: each entry was
/// vouched for by an API.
package final class DemandTable: Sendable {
  /// How many clients have one at a time.
  package static let countMax = 10_000

  /// One demand.
  struct Demand: Sendable, Hashable {
    let kind: ChallengeKind
    let level: UInt8
    /// When the API asked. An earlier answer does not count.
    let moment: UnixTime
    /// The last second in which it stands.
    let end: UnixTime
  }

  /// The names by which an API knows a client.
  struct Names {
    let all: [String]
    /// The name in a verdict without an app.
    let client: String?

    init(_ handle: GateHandle?, _ held: Clearance?, _ client: ChallengeClient) {
      var names: [String] = []
      if let handle { names.append("h." + Base64.encode(handle.bytes, .url)) }
      if case .session(let name)? = held?.holder { names.append("s." + Base64.encode(name, .url)) }
      if case .address(let address) = client { names.append("a." + AddressPrefix.of(address)) }
      all = names
      self.client = handle == nil ? names.first : nil
    }
  }

  private struct Key: Hashable {
    let host: String
    let name: String
  }

  private let state = CoreLock<[Key: Demand]>([:])

  /// How many demands stand.
  package var count: Int { state.withLock(\.count) }

  /// Takes a demand. A later one replaces an earlier one.
  ///
  /// - Returns: False if there is no room.
  func put(_ demand: Demand, for name: String, at host: String, now: UnixTime) -> Bool {
    state.withLock { state in
      let key = Key(host: host, name: name)
      if state[key] == nil, state.count >= Self.countMax {
        state = state.filter { $0.value.end >= now }
        guard state.count < Self.countMax else { return false }
      }
      if let held = state[key], held.moment > demand.moment { return true }
      state[key] = demand
      return true
    }
  }

  /// The demand for a client that has one of these names.
  func find(_ names: Names, at host: String, now: UnixTime) -> Demand? {
    state.withLock { state in
      guard !state.isEmpty else { return nil }
      for name in names.all {
        let key = Key(host: host, name: name)
        guard let demand = state[key] else { continue }
        if demand.end >= now { return demand }
        state[key] = nil
      }
      return nil
    }
  }
}
