import ProofModel
import Synchronization

@testable import ProofService

/// A store whose next change lets another process go first: the race between two processes that
/// share one store, made certain.
final class InterruptedStore: Store {
  private let store = MemoryStore()
  private let others = Mutex<(@Sendable () -> Void)?>(nil)

  /// Runs `others` just before the next change, once.
  func interrupt(by others: @escaping @Sendable () -> Void) {
    self.others.withLock { $0 = others }
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    let others = others.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
    others?()
    try store.apply(changes)
  }

  func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    try store.row(key, of: table)
  }
  func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] { try store.rows(of: table) }
  func revision() throws(StoreError) -> UInt64 { try store.revision() }
  func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64 {
    try store.advance(counter, by: count)
  }
  func keep(_ pending: PendingSalt) throws(StoreError) { try store.keep(pending) }
  func pending(_ salt: Salt) throws(StoreError) -> PendingSalt? { try store.pending(salt) }
  func use(_ salt: Salt, for sighting: DeviceSighting?) throws(StoreError) -> Bool {
    try store.use(salt, for: sighting)
  }
  @discardableResult
  func dropSalts(expiredBefore time: Int64) throws(StoreError) -> Int {
    try store.dropSalts(expiredBefore: time)
  }
  func dropDevices(lastSeenBefore time: Int64, atMost count: Int) throws(StoreError) -> Int {
    try store.dropDevices(lastSeenBefore: time, atMost: count)
  }
  func generationFloor() throws(StoreError) -> UInt32 { try store.generationFloor() }
  func generation(of device: DeviceID, at gate: GateID) throws(StoreError) -> UInt32? {
    try store.generation(of: device, at: gate)
  }
  func gateGenerationFloor() throws(StoreError) -> UInt32 { try store.gateGenerationFloor() }
  func device(_ id: DeviceID) throws(StoreError) -> DeviceRow? { try store.device(id) }
  func glance(at id: DeviceID) throws(StoreError) -> (revision: UInt64, device: DeviceRow?) {
    try store.glance(at: id)
  }
  func devices(latest count: Int) throws(StoreError) -> [DeviceRow] {
    try store.devices(latest: count)
  }
  func counts() throws(StoreError) -> StoreCounts { try store.counts() }
}
