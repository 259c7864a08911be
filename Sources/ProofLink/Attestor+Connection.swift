// SPDX-License-Identifier: Apache-2.0

public import ProofKit

extension Attestor {
  /// Makes a connection to paired hardware. Opens no link yet, and needs no network.
  ///
  /// - Parameters:
  ///   - hardware: The hardware, as ``/ProofKit/MeasurementStore/hardware(_:)`` gives it. After a
  ///     renewal, make a connection to the newer pair.
  ///   - transport: Carries the PDUs.
  ///   - store: Keeps what must outlive the app, such as a ``LinkMemoryFile``.
  ///   - options: The MTU, and the connection's timing.
  /// - Returns: The connection.
  public func connection(
    to hardware: PairedHardware, over transport: any LinkTransport,
    memory store: any LinkMemoryStore, options: HardwareConnection.Options = .init()
  ) -> HardwareConnection {
    HardwareConnection(
      to: hardware, proving: Self.prover(observer, of: hardware), over: transport, memory: store,
      options: options)
  }

  private static func prover(
    _ observer: some EvidenceObserver, of hardware: PairedHardware
  ) -> any CommandProver {
    Prover(config: hardware.config, collector: observer)
  }
}
