public import ProofModel

/// The service's durable storage. One store holds one account.
///
/// A store keeps bytes and does not interpret them: rows by table and key, pending salts, devices
/// and counters. Secrets are sealed before they are stored (``Account``), so a store needs no
/// cryptography of its own. `StoreConformance` in the tests defines the behaviour of a store. A
/// store that passes can replace the service's own (``SQLiteStore``).
///
/// All functions are called from several threads at once, and return when their promises are kept.
public protocol Store: Sendable {
  /// One row, or nil.
  func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]?

  /// All rows of a table, in the order of their keys' UTF-8 bytes.
  func rows(of table: StoreTable) throws(StoreError) -> [StoreRow]

  /// Makes all changes or none. When it returns they survive a power cut.
  ///
  /// - Throws: ``StoreError/alreadyThere(table:key:)`` if an ``StoreChange/insert(_:_:_:)`` finds
  ///   its key taken, ``StoreError/changedMeanwhile(table:key:)`` if an
  ///   ``StoreChange/expect(_:_:_:)`` finds another row; nothing was changed then.
  func apply(_ changes: [StoreChange]) throws(StoreError)

  /// Grows with each ``apply(_:)`` of any process that shares the store; a cache of rows compares
  /// it. Changes of device strings alone do not count: apps make them, and they are not cached.
  func revision() throws(StoreError) -> UInt64

  /// Adds to a counter that starts at 0, and returns its earlier value. When it returns, the sum
  /// survives a power cut.
  func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64

  /// Keeps a salt until ``use(_:for:)`` takes it or it expires.
  ///
  /// A power cut or the end of the process may lose it. That does no harm, because no report was
  /// accepted under it yet: the device asks again. Another process that shares the store finds the
  /// salt at the latest when a later change of this process has returned.
  func keep(_ pending: PendingSalt) throws(StoreError)

  /// A salt that was kept and neither used nor dropped, expired or not.
  func pending(_ salt: Salt) throws(StoreError) -> PendingSalt?

  /// Uses a salt up and notes the result, in one step. When it returns true, that survives a power
  /// cut: the salt is never found again.
  ///
  /// - Parameters:
  ///   - salt: The salt.
  ///   - sighting: The report's facts about the device; nil if the report was refused. Its
  ///     generation becomes the device's if it is higher, and
  ///     ``DeviceSighting/mustRaiseGeneration`` makes that a condition.
  /// - Returns: Whether this call used the salt. False, with nothing changed, if the salt is not
  ///   there, or the device's generation is not below one that must raise it.
  /// - Throws: ``StoreError``.
  func use(_ salt: Salt, for sighting: DeviceSighting?) throws(StoreError) -> Bool

  /// Forgets salts that expired before a time, in Unix seconds.
  ///
  /// - Returns: The number of salts.
  @discardableResult
  func dropSalts(expiredBefore time: Int64) throws(StoreError) -> Int

  /// Forgets devices that were last seen before a time, the eldest first, with the secure strings that they
  /// defined and their lines at gates. The highest of their generations becomes the floor, unless that is higher;
  /// so does the highest of their lines.
  ///
  /// - Parameters:
  ///   - time: Unix seconds.
  ///   - count: The most devices to drop.
  /// - Returns: The number of devices dropped.
  /// - Throws: ``StoreError``.
  func dropDevices(lastSeenBefore time: Int64, atMost count: Int) throws(StoreError) -> Int

  /// The highest generation of a device that was dropped; 0 for none.
  func generationFloor() throws(StoreError) -> UInt32

  /// The highest generation of a device's own line at a gate, which is apart from ``DeviceRow/generation``; nil if
  /// it has none.
  func generation(of device: DeviceID, at gate: GateID) throws(StoreError) -> UInt32?

  /// The highest generation, at any gate, of a device that was dropped; 0 for none.
  func gateGenerationFloor() throws(StoreError) -> UInt32

  /// The row of a device.
  func device(_ id: DeviceID) throws(StoreError) -> DeviceRow?

  /// The revision and the row of a device, read at one moment: all that a request needs first.
  func glance(at id: DeviceID) throws(StoreError) -> (revision: UInt64, device: DeviceRow?)

  /// The devices seen last, the latest first.
  func devices(latest count: Int) throws(StoreError) -> [DeviceRow]

  /// The numbers of devices and of pending salts.
  func counts() throws(StoreError) -> StoreCounts
}

/// The tables of rows.
public enum StoreTable: UInt8, Sendable, CaseIterable {
  /// The account's own documents.
  case account = 1
  /// APIs by host.
  case api = 2
  /// Registered apps by app digest.
  case registration = 3
  /// Builds of the SDK by key id.
  case sdkBuild = 4
  /// Keys of key sets by name.
  case key = 5
  /// Pieces of hardware by id.
  case hardware = 6
  /// Pins by host.
  case pin = 7
  /// Secure strings by name.
  case secureString = 8
  /// Secure strings that an app's installation defined, by device and name.
  case deviceString = 9
  /// The operator's decisions about single devices.
  case deviceRule = 10
  /// Gates by name.
  case gate = 11
}

/// One row.
public struct StoreRow: Sendable, Hashable {
  /// The key.
  public var key: String
  /// The bytes.
  public var value: [UInt8]

  /// A row of these parts.
  public init(_ key: String, _ value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

/// One change of a row.
public enum StoreChange: Sendable, Hashable {
  /// Adds a row whose key must be free.
  case insert(StoreTable, String, [UInt8])
  /// Writes a row, whether its key is free or not.
  case put(StoreTable, String, [UInt8])
  /// A condition and no change: the row exists with these bytes.
  case expect(StoreTable, String, [UInt8])
  /// Removes a row, if it exists.
  case remove(StoreTable, String)
}

extension StoreChange {
  /// Changes that rewrite a row only if it is still the row that was read. If another writer
  /// changed it, the caller reads again and starts over.
  ///
  /// - Parameters:
  ///   - table: The row's table.
  ///   - key: Its key.
  ///   - present: The row that was read; nil for no row.
  ///   - new: The row to write; nil for no row.
  /// - Returns: The changes; none if there was no row and none is to be written.
  static func rewriting(
    _ table: StoreTable, _ key: String, from present: [UInt8]?, to new: [UInt8]?
  ) -> [StoreChange] {
    switch (present, new) {
    case (nil, nil): []
    case (nil, let new?): [.insert(table, key, new)]
    case (let present?, nil): [.expect(table, key, present), .remove(table, key)]
    case (let present?, let new?): [.expect(table, key, present), .put(table, key, new)]
    }
  }
}

extension [StoreChange] {
  /// Whether caches of rows must be refreshed.
  var countsForRevision: Bool {
    contains { change in
      switch change {
      case .insert(let table, _, _), .put(let table, _, _), .remove(let table, _):
        table != .deviceString
      case .expect: false
      }
    }
  }
}

/// A salt that a challenge gave out.
public struct PendingSalt: Sendable, Hashable {
  /// The salt.
  public var salt: Salt
  /// The salt's end, in Unix seconds.
  public var expiry: Int64
  /// The part of the question that the service needs when the report comes.
  public var note: [UInt8]

  /// A pending salt of these parts.
  public init(_ salt: Salt, expiry: Int64, note: [UInt8]) {
    self.salt = salt
    self.expiry = expiry
    self.note = note
  }
}

/// A report's facts about a device.
public struct DeviceSighting: Sendable, Hashable {
  /// The device.
  public var device: DeviceID
  /// The time, in Unix seconds.
  public var time: Int64
  /// The generation of the measurement that the report gave; 0 for none.
  public var generation: UInt32
  /// Whether the salt is used only if the generation is above the device's.
  public var mustRaiseGeneration: Bool
  /// The gate whose line the generation is of; nil for the device's own, which opens locks.
  public var gate: GateID?
  /// The service's note about the device.
  public var note: [UInt8]

  /// A sighting of these parts.
  public init(
    _ device: DeviceID, at time: Int64, generation: UInt32 = 0, mustRaiseGeneration: Bool = false,
    gate: GateID? = nil, note: [UInt8]
  ) {
    self.gate = gate
    self.device = device
    self.time = time
    self.generation = generation
    self.mustRaiseGeneration = mustRaiseGeneration
    self.note = note
  }
}

/// The store's row of a device.
public struct DeviceRow: Sendable, Hashable {
  /// The device.
  public var device: DeviceID
  /// The time when it was first seen, in Unix seconds.
  public var firstSeen: Int64
  /// The time when it was last seen, in Unix seconds.
  public var lastSeen: Int64
  /// The highest generation of a measurement.
  public var generation: UInt32
  /// The note of the last sighting.
  public var note: [UInt8]
}

/// The counts of a store.
public struct StoreCounts: Sendable, Hashable {
  /// Devices seen.
  public var devices: Int
  /// Salts that wait for a report.
  public var salts: Int
}
