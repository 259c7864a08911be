// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
package import ProofModel

/// The result of a demand that an API sent.
package enum DemandResult: Sendable, Hashable {
  /// The client's next request is challenged.
  case taken
  /// The text is none that an API of this gate made in the last 30 seconds.
  case refused
  /// The table of demands is full.
  case full
}

extension ForwardGate {
  /// By how many seconds a demand may be older or newer than this node's clock.
  private static let demandSeconds: UInt64 = 30

  /// Takes an API's demand. It holds for requests to this API's host alone, at this node.
  ///
  /// - Parameters:
  ///   - text: The value of `Proof-Demand`.
  ///   - now: The time.
  /// - Returns: Whether it was taken.
  package func take(demand text: String, at now: UnixTime) -> DemandResult {
    let now = now.whole
    for host in rules.configuration.hosts {
      var moment: UnixTime = 0
      guard let demand = GateDemand(text, with: own.verdictKeySet(for: host), moment: &moment)
      else { continue }
      guard moment <= now + Self.demandSeconds, now <= moment + Self.demandSeconds,
        let kind = ChallengeKind.allCases.first(where: { $0.word == demand.kind.rawValue }),
        kind.levels.contains(demand.level)
      else { return .refused }
      let entry = DemandTable.Demand(
        kind: kind, level: demand.level, moment: moment, end: now + demand.seconds)
      return desks.demands.put(entry, for: demand.client, at: host, now: now) ? .taken : .full
    }
    return .refused
  }
}
