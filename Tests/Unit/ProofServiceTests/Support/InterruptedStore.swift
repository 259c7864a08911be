// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization

@testable import ProofService

/// A store whose next change or use lets another process go first: the race between two processes
/// that share one store, made certain.
final class InterruptedStore: Store {
  private let store = MemoryStore()
  /// The step that others come before.
  enum Step {
    case change
    case use
  }
  private let others = Mutex<[Step: @Sendable () -> Void]>([:])

  /// Whether readings of the revision fail, as they do while a database is away.
  let isAway = Mutex(false)

  /// The clock of the store; nil for none.
  let clock = Mutex<UnixTime?>(nil)

  func sharedTime() throws(StoreError) -> UnixTime? { clock.withLock { $0 } }

  /// How old the surveys of devices are: those of a store with replicas are.
  let surveyAge = Mutex(SurveyAge.present)

  func surveyedDevices(latest count: Int) throws(StoreError) -> Surveyed<[DeviceRow]> {
    Surveyed(try store.devices(latest: count), surveyAge.withLock { $0 })
  }
  func surveyedCounts() throws(StoreError) -> Surveyed<StoreCounts> {
    try answer()
    return Surveyed(try store.counts(), surveyAge.withLock { $0 })
  }

  /// Whether marks cannot be dropped.
  let keepsMarks = Mutex(false)

  /// The readings of a device before a report is judged.
  let glances = Atomic(0)

  private func answer() throws(StoreError) {
    if isAway.withLock({ $0 }) { throw .database("test", detail: "away") }
  }

  /// Runs `others` just before the next step of a kind, once.
  func interrupt(_ step: Step = .change, by others: @escaping @Sendable () -> Void) {
    self.others.withLock { $0[step] = others }
  }

  private func letOthers(_ step: Step) {
    others.withLock { $0.removeValue(forKey: step) }?()
  }

  func apply(_ changes: [StoreChange]) throws(StoreError) {
    letOthers(.change)
    try store.apply(changes)
  }

  func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    try store.row(key, of: table)
  }
  /// How often rows of a table were read.
  let tables = Atomic(0)

  func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] {
    tables.add(1, ordering: .relaxed)
    return try store.rows(of: table)
  }
  func revision() throws(StoreError) -> UInt64 {
    try answer()
    return try store.revision()
  }
  func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64 {
    try store.advance(counter, by: count)
  }
  func use(_ use: SaltUse) throws(StoreError) -> SaltOutcome {
    letOthers(.use)
    return try store.use(use)
  }
  @discardableResult
  func dropMarks(expiredBefore time: UnixTime) throws(StoreError) -> Int {
    if keepsMarks.withLock({ $0 }) { throw .database("test", detail: "read only") }
    return try store.dropMarks(expiredBefore: time)
  }
  func dropDevices(lastSeenBefore time: UnixTime, atMost count: Int) throws(StoreError) -> Int {
    try store.dropDevices(lastSeenBefore: time, atMost: count)
  }
  func generationFloor() throws(StoreError) -> UInt32 { try store.generationFloor() }
  func generation(of device: InstanceID, at gate: GateID) throws(StoreError) -> UInt32? {
    try store.generation(of: device, at: gate)
  }
  func gateGenerationFloor() throws(StoreError) -> UInt32 { try store.gateGenerationFloor() }
  func device(_ id: InstanceID) throws(StoreError) -> DeviceRow? { try store.device(id) }
  func glance(at id: InstanceID, and salt: SaltPlace?) throws(StoreError) -> StoreGlance {
    glances.add(1, ordering: .relaxed)
    try answer()
    return try store.glance(at: id, and: salt)
  }
  func devices(latest count: Int) throws(StoreError) -> [DeviceRow] {
    try store.devices(latest: count)
  }
  func counts() throws(StoreError) -> StoreCounts { try store.counts() }
}
