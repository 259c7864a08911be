// SPDX-License-Identifier: Apache-2.0

public import ProofKit
import ProofModel

extension Attestor {
  /// Makes a connection to paired hardware. Opens no link yet, and needs no network.
  ///
  /// After a renewal the next call uses the newer pair.
  ///
  /// - Parameters:
  ///   - hardware: The hardware, as ``/ProofKit/StoredPairs/hardware(_:)`` gives it.
  ///   - transport: Carries the PDUs.
  ///   - store: Keeps what must outlive the app; nil for a file in the storage folder.
  ///   - options: The MTU, and the connection's timing.
  /// - Returns: The connection.
  public func connection(
    to hardware: PairedHardware, over transport: any LinkTransport,
    memory store: (any LinkMemoryStore)? = nil, options: HardwareConnection.Options = .init()
  ) -> HardwareConnection {
    let id = hardware.id
    let keeper = ConnectionKeeper(
      fitting: { [weak self] in
        guard let self, let found = try? Self.pair(for: id, in: self, fitting: self.observer) else {
          return nil
        }
        return (
          (found.chosen, Self.prover(self.observer, of: found.chosen)),
          found.before.map { ($0, Self.prover(self.observer, of: $0)) }
        )
      },
      accepted: { [weak self] pair in self?.noteAccepted(by: pair) },
      noteCopy: { [weak self] in self?.noteCopy(seenBy: id) },
      hasReportedCopy: { [weak self] in self?.hasReportedCopy(seenBy: id) ?? false })
    return HardwareConnection(
      to: hardware, proving: Self.prover(observer, of: hardware), over: transport,
      memory: store ?? LinkMemoryFile(in: storage ?? "", for: id), options: options,
      keeping: keeper)
  }

  private static func pair(
    for id: HardwareID, in attestor: Attestor, fitting observer: some EvidenceObserver
  ) throws(MeasurementStoreError) -> (chosen: PairedHardware, before: PairedHardware?) {
    try attestor.fittingPair(for: id, of: observer)
  }

  private static func prover(
    _ observer: some EvidenceObserver, of hardware: PairedHardware
  ) -> any CommandProver {
    Prover(config: hardware.config, collector: observer)
  }
}
