// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A store that ends with the process: for tests, and as an example of the protocol.
public final class MemoryStore: Store {
  private struct State {
    /// The rows by their keys' bytes: Swift's strings compare two spellings of one character as
    /// equal.
    var rows: [StoreTable: [[UInt8]: [UInt8]]] = [:]
    var revision: UInt64 = 0
    var counters: [String: UInt64] = [:]
    var spent = [SpentSlot](repeating: SpentSlot(), count: SpentRing.slotCount)
    var devices: [InstanceID: DeviceRow] = [:]
    var generationFloor: UInt32 = 0
    /// The lines of devices at gates.
    var lines: [InstanceID: [GateID: UInt32]] = [:]
    var gateFloor: UInt32 = 0

    /// The generation that a use must be above.
    func line(of use: SaltUse) -> UInt32 {
      guard let gate = use.sighting?.gate else { return devices[use.device]?.generation ?? 0 }
      return lines[use.device]?[gate] ?? 0
    }

    mutating func note(_ sighting: DeviceSighting, _ use: SaltUse, _ known: DeviceRow?) {
      let before = known?.generation ?? 0
      if let gate = sighting.gate {
        lines[use.device, default: [:]][gate] = max(line(of: use), sighting.generation)
      }
      devices[use.device] = DeviceRow(
        device: use.device, firstSeen: known?.firstSeen ?? use.time,
        lastSeen: max(known?.lastSeen ?? use.time, use.time),
        generation: sighting.gate == nil ? max(before, sighting.generation) : before,
        note: sighting.note, version: sighting.version + 1)
      let key = Array(use.device.description.utf8)
      switch sighting.strings {
      case .none: break
      case .put(let row): rows[.deviceString, default: [:]][key] = row
      case .remove: rows[.deviceString]?[key] = nil
      }
    }
  }

  private struct SpentSlot {
    var marks: [SpentKey: SpentMark] = [:]
    /// The first minute of expiry that is accepted.
    var floor: Int64 = 0
    /// The last minute of expiry of a mark.
    var last: Int64 = 0
  }

  private struct SpentKey: Hashable {
    let device: InstanceID
    let salt: Salt
  }

  private let state = CoreLock(State())

  /// An empty store.
  public init() {}

  /// One row, or nil.
  public func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    state.withLock { $0.rows[table]?[Array(key.utf8)] }
  }

  /// All rows of a table, in the order of their keys' bytes.
  public func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] {
    let rows = state.withLock { $0.rows[table] ?? [:] }
    return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      StoreRow(String(decoding: $0.key, as: UTF8.self), $0.value)
    }
  }

  /// Makes all changes or none.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    try state.withLock { (state) throws(StoreError) in
      var rows = state.rows
      for change in changes {
        switch change {
        case .insert(let table, let key, let value):
          guard rows[table]?[Array(key.utf8)] == nil else {
            throw .alreadyThere(table: table, key: key)
          }
          rows[table, default: [:]][Array(key.utf8)] = value
        case .put(let table, let key, let value):
          rows[table, default: [:]][Array(key.utf8)] = value
        case .expect(let table, let key, let value):
          guard rows[table]?[Array(key.utf8)] == value else {
            throw .changedMeanwhile(table: table, key: key)
          }
        case .remove(let table, let key): rows[table]?[Array(key.utf8)] = nil
        }
      }
      state.rows = rows
      if changes.countsForRevision { state.revision += 1 }
    }
  }

  /// Grows with each change.
  public func revision() throws(StoreError) -> UInt64 { state.withLock { $0.revision } }

  /// Adds to a counter, and returns its earlier value.
  public func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64 {
    state.withLock { state in
      let before = state.counters[counter, default: 0]
      state.counters[counter] = before + count
      return before
    }
  }

  /// Spends a salt and notes the report's facts, in one step.
  public func use(_ use: SaltUse) throws(StoreError) -> SaltOutcome {
    state.withLock { state in
      guard use.revision == state.revision else { return .changed }
      let minute = SpentRing.minute(of: use.expiry)
      let slot = SpentRing.slot(of: minute)
      let key = SpentKey(device: use.device, salt: use.salt)
      guard use.expiry > use.time, minute >= state.spent[slot].floor else { return .stale }
      if let mark = state.spent[slot].marks[key] { return mark.outcome(for: use.report) }
      let known = state.devices[use.device]
      var raises = true
      if let sighting = use.sighting {
        raises = !sighting.mustRaiseGeneration || sighting.generation > state.line(of: use)
        guard !raises || sighting.version == known?.version ?? 0 else { return .changed }
      }
      state.spent[slot].marks[key] = SpentMark(use.report, answer: raises ? use.answer : [])
      state.spent[slot].last = max(state.spent[slot].last, minute)
      guard raises else { return .stale }
      if let sighting = use.sighting { state.note(sighting, use, known) }
      return .used
    }
  }

  /// Drops all marks of slots whose last mark expired.
  @discardableResult
  public func dropMarks(expiredBefore time: UnixTime) throws(StoreError) -> Int {
    state.withLock { state in
      var count = 0
      for slot in state.spent.indices where !state.spent[slot].marks.isEmpty {
        let last = state.spent[slot].last
        guard last < SpentRing.minute(of: time) else { continue }
        state.spent[slot] = SpentSlot(floor: last + 1)
        count += 1
      }
      return count
    }
  }

  /// Forgets all marks and raises no floor, so that a salt can be used again: for tests.
  func forgetMarks() {
    state.withLock { state in
      for slot in state.spent.indices { state.spent[slot].marks = [:] }
    }
  }

  /// Forgets devices not seen for long.
  public func dropDevices(
    lastSeenBefore time: UnixTime, atMost count: Int
  ) throws(StoreError) -> Int {
    state.withLock { state in
      let eldest = state.devices.values.filter { $0.lastSeen < time }
        .sorted { $0.lastSeen < $1.lastSeen }.prefix(count)
      for row in eldest {
        state.devices[row.device] = nil
        state.rows[.deviceString]?[Array(row.device.description.utf8)] = nil
        state.generationFloor = max(state.generationFloor, row.generation)
        let lines = state.lines.removeValue(forKey: row.device)
        state.gateFloor = max(state.gateFloor, lines?.values.max() ?? 0)
      }
      return eldest.count
    }
  }

  /// The highest generation of a device that was dropped.
  public func generationFloor() throws(StoreError) -> UInt32 {
    state.withLock { $0.generationFloor }
  }

  /// The highest generation of a device's own line at a gate.
  public func generation(of device: InstanceID, at gate: GateID) throws(StoreError) -> UInt32? {
    state.withLock { $0.lines[device]?[gate] }
  }

  /// The highest generation, at any gate, of a device that was dropped.
  public func gateGenerationFloor() throws(StoreError) -> UInt32 { state.withLock { $0.gateFloor } }

  /// The row of a device.
  public func device(_ id: InstanceID) throws(StoreError) -> DeviceRow? {
    state.withLock { $0.devices[id] }
  }

  /// The revision, the row of a device, and the mark of a salt.
  public func glance(
    at id: InstanceID, and salt: SaltPlace?
  ) throws(StoreError) -> StoreGlance {
    state.withLock { state in
      StoreGlance(
        revision: state.revision, device: state.devices[id],
        mark: salt.flatMap { state.spent[$0.slot].marks[SpentKey(device: id, salt: $0.salt)] })
    }
  }

  /// The devices seen last, the latest first.
  public func devices(latest count: Int) throws(StoreError) -> [DeviceRow] {
    let rows = state.withLock { Array($0.devices.values) }
    return Array(
      rows.sorted { first, second in
        first.lastSeen != second.lastSeen
          ? first.lastSeen > second.lastSeen
          : first.device.bytes.lexicographicallyPrecedes(second.device.bytes)
      }.prefix(count))
  }

  /// The number of devices.
  public func counts() throws(StoreError) -> StoreCounts {
    state.withLock { StoreCounts(devices: $0.devices.count) }
  }
}
