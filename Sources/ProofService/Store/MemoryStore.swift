public import ProofModel

/// A store that ends with the process: for tests, and as an example of the protocol.
public final class MemoryStore: Store {
  private struct State {
    /// The rows by their keys' bytes: Swift's strings compare two spellings of one character as
    /// equal.
    var rows: [StoreTable: [[UInt8]: [UInt8]]] = [:]
    var revision: UInt64 = 0
    var counters: [String: UInt64] = [:]
    var salts: [Salt: PendingSalt] = [:]
    var devices: [DeviceID: DeviceRow] = [:]
    var generationFloor: UInt32 = 0
    /// The lines of devices at gates.
    var lines: [DeviceID: [GateID: UInt32]] = [:]
    var gateFloor: UInt32 = 0
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

  /// Keeps a salt.
  public func keep(_ pending: PendingSalt) throws(StoreError) {
    state.withLock { $0.salts[pending.salt] = pending }
  }

  /// A salt that was kept and neither used nor dropped.
  public func pending(_ salt: Salt) throws(StoreError) -> PendingSalt? {
    state.withLock { $0.salts[salt] }
  }

  /// Uses a salt up and notes the result, in one step.
  public func use(_ salt: Salt, for sighting: DeviceSighting?) throws(StoreError) -> Bool {
    state.withLock { state in
      guard state.salts[salt] != nil else { return false }
      guard let sighting else {
        state.salts[salt] = nil
        return true
      }
      let known = state.devices[sighting.device]
      let before = known?.generation ?? 0
      let line = sighting.gate.map { state.lines[sighting.device]?[$0] ?? 0 }
      if sighting.mustRaiseGeneration, sighting.generation <= line ?? before { return false }
      state.salts[salt] = nil
      if let gate = sighting.gate, let line {
        state.lines[sighting.device, default: [:]][gate] = max(line, sighting.generation)
      }
      state.devices[sighting.device] = DeviceRow(
        device: sighting.device, firstSeen: known?.firstSeen ?? sighting.time,
        lastSeen: max(known?.lastSeen ?? sighting.time, sighting.time),
        generation: sighting.gate == nil ? max(before, sighting.generation) : before,
        note: sighting.note)
      return true
    }
  }

  /// Forgets expired salts.
  @discardableResult
  public func dropSalts(expiredBefore time: Int64) throws(StoreError) -> Int {
    state.withLock { state in
      let before = state.salts.count
      state.salts = state.salts.filter { $0.value.expiry >= time }
      return before - state.salts.count
    }
  }

  /// Forgets devices not seen for long.
  public func dropDevices(
    lastSeenBefore time: Int64, atMost count: Int
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
  public func generation(of device: DeviceID, at gate: GateID) throws(StoreError) -> UInt32? {
    state.withLock { $0.lines[device]?[gate] }
  }

  /// The highest generation, at any gate, of a device that was dropped.
  public func gateGenerationFloor() throws(StoreError) -> UInt32 { state.withLock { $0.gateFloor } }

  /// The row of a device.
  public func device(_ id: DeviceID) throws(StoreError) -> DeviceRow? {
    state.withLock { $0.devices[id] }
  }

  /// The revision and the row of a device.
  public func glance(
    at id: DeviceID
  ) throws(StoreError) -> (revision: UInt64, device: DeviceRow?) {
    state.withLock { ($0.revision, $0.devices[id]) }
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

  /// The numbers of devices and salts.
  public func counts() throws(StoreError) -> StoreCounts {
    state.withLock { StoreCounts(devices: $0.devices.count, salts: $0.salts.count) }
  }
}
