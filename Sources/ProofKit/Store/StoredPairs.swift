// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The pairs on disk: configuration and tokens of one generation, written in one step, never replaced by
/// older ones.
///
/// A power cut at any moment leaves the old pairs or the new ones. A damaged file is reported once and
/// kept under another name. Each call reads or writes one small file. One process at a time has the
/// pairs of a storage folder.
public struct StoredPairs: Sendable {
  private let attestor: Attestor

  init(_ attestor: Attestor) { self.attestor = attestor }

  /// All pairs, in order of the hardware's id.
  ///
  /// - Returns: The pairs; empty if there are none.
  /// - Throws: ``MeasurementStoreError``.
  public func all() throws(MeasurementStoreError) -> [PairedHardware] {
    try attestor.store().paired()
  }

  /// The pair for a piece of hardware.
  ///
  /// - Parameter id: The hardware.
  /// - Returns: The pair.
  /// - Throws: ``MeasurementStoreError``; ``MeasurementStoreError/notPaired(_:)`` if there is none.
  public func hardware(_ id: HardwareID) throws(MeasurementStoreError) -> PairedHardware {
    guard let pair = try attestor.store().paired().first(where: { $0.id == id }) else {
      throw .notPaired(id)
    }
    return pair
  }

  /// Removes the pair for a piece of hardware; removing none is no error.
  ///
  /// - Parameter id: The hardware.
  /// - Throws: ``MeasurementStoreError``.
  public func remove(_ id: HardwareID) throws(MeasurementStoreError) {
    try attestor.store().remove(id)
  }

  /// Removes all pairs, for an app that was installed again. It must go online before it can open
  /// anything.
  ///
  /// - Throws: ``MeasurementStoreError``.
  public func erase() throws(MeasurementStoreError) {
    try attestor.store().erase()
  }
}

extension Attestor {
  /// The pairs stored for offline use.
  public var pairs: StoredPairs { StoredPairs(self) }

  /// The pair that the running app fits, and the present one if it is another. Observes the app once if there
  /// is a pair to come.
  package func fittingPair(
    for id: HardwareID, of observer: some EvidenceObserver
  ) throws(MeasurementStoreError) -> (chosen: PairedHardware, before: PairedHardware?) {
    try store().hardware(id, fitting: observer)
  }

  /// Deletes a lock's older tokens, after its receipt for a command under a newer generation. A failure leaves
  /// them: they are of no use at that lock.
  package func noteAccepted(by pair: PairedHardware) {
    try? store().noteAccepted(by: pair)
  }

  /// The store of the pairs, opened at the first use.
  func store() throws(MeasurementStoreError) -> MeasurementStore {
    let storage = storage
    return try pairStore.withLock { open -> Result<MeasurementStore, MeasurementStoreError> in
      if let open { return .success(open) }
      do throws(MeasurementStoreError) {
        guard let storage else { throw .noPlace }
        let store = try MeasurementStore(folder: storage + "/measurement")
        open = store
        return .success(store)
      } catch {
        return .failure(error)
      }
    }.get()
  }
}
