// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
package import ProofJOSE

/// The state of a gate that challenges: it outlives a reading of the files while the gate's keys stay the same.
package final class GateDesks: Sendable {
  /// Sets challenges and judges answers.
  package let challenges: ChallengeDesk
  /// Makes and checks clearances.
  package let clearances: ClearanceDesk
  /// Makes and opens tickets.
  package let tickets: TicketDesk
  /// How many challenges are open, by sender and route.
  let load = ChallengeLoad()
  /// The challenges that APIs asked for.
  package let demands = DemandTable()

  /// Makes the desks of a node.
  ///
  /// - Parameters:
  ///   - own: The gate's own keys.
  ///   - replay: Remembers answers and spent clearances; the nodes of one gate share it.
  ///   - clock: Where the time comes from.
  /// - Throws: ``/ProofBackend/ReplayStoreFailure``.
  package init(
    _ own: GateOwnKeys, replay: any ReplayStore, clock: UnixClock = .system
  ) throws(ReplayStoreFailure) {
    var settings = ChallengeDesk.Settings()
    settings.clock = clock
    challenges = try ChallengeDesk(own, replay: replay, settings: settings)
    var clearing = ClearanceDesk.Settings()
    clearing.clock = clock
    clearances = try ClearanceDesk(own, replay: replay, settings: clearing)
    tickets = TicketDesk(own)
  }
}
