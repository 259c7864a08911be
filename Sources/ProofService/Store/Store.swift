// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The service's durable storage. One store holds one account.
///
/// A store keeps bytes and does not interpret them: rows by table and key, marks of spent salts,
/// devices and counters. Secrets are sealed before they are stored (``Account``), so a store needs no
/// cryptography of its own. `StoreConformance` in the tests defines the behaviour of a store. A
/// store that passes can replace the service's own (``SQLiteStore``).
///
/// All functions are called from several threads at once. All but ``use(_:_:)`` return when their
/// promises are kept.
public protocol Store: RowReader {
  /// The revision and all rows of some tables, read at one moment.
  ///
  /// A store on another machine answers it in one trip. The default reads table by table, and again
  /// if the revision changed meanwhile.
  func image(of tables: [StoreTable]) throws(StoreError) -> StoreImage

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

  /// Spends a salt and notes the report's facts, in one step. When it returns
  /// ``SaltOutcome/used``, that survives a power cut.
  ///
  /// The rules, in order:
  ///
  /// 1. If the store's revision is not ``SaltUse/revision``, the outcome is ``SaltOutcome/changed``.
  /// 2. If the salt has expired, or marks of its expiry were dropped already, the outcome is
  ///    ``SaltOutcome/stale``.
  /// 3. If the device's salt is spent, the outcome is ``SaltOutcome/again(_:)`` with the stored
  ///    answer for the same report, and ``SaltOutcome/stale`` for any other report.
  /// 4. If the sighting must raise a generation and does not, the salt is spent without an answer
  ///    and the outcome is ``SaltOutcome/stale``.
  /// 5. If the device's row is not the one that was judged, the outcome is
  ///    ``SaltOutcome/changed``.
  /// 6. Otherwise the mark, the device's row, its line at a gate and its strings are written, all in
  ///    one transaction.
  ///
  /// Apart from rules 4 and 6, nothing is changed. A caller that does not learn the outcome calls
  /// again with the same arguments.
  func use(_ use: SaltUse) throws(StoreError) -> SaltOutcome

  /// Spends a salt as ``use(_:)`` does, without holding up the calling thread.
  ///
  /// The service calls this function. The default waits, by ``use(_:)``.
  ///
  /// - Parameters:
  ///   - use: The use.
  ///   - done: Takes the outcome, once, on any thread, perhaps before this function returns. It takes
  ///     no time and does not use the store.
  func use(_ use: SaltUse, _ done: @escaping @Sendable (Result<SaltOutcome, StoreError>) -> Void)

  /// The time by the clock that all machines of this store share; nil for a store of one machine.
  ///
  /// Marks and devices are dropped by this clock as well as by a node's own: a node whose clock is ahead would
  /// otherwise drop the marks of challenges that are still in force, and close their minutes for every node.
  func sharedTime() throws(StoreError) -> UnixTime?

  /// Drops all marks of those slots of the ring whose last mark expired before a time. No salt of
  /// an expiry up to that last one is accepted from then on, whatever a clock says.
  ///
  /// - Parameter time: The time.
  /// - Returns: The number of slots.
  /// - Throws: ``StoreError``.
  @discardableResult
  func dropMarks(expiredBefore time: UnixTime) throws(StoreError) -> Int

  /// Forgets devices that were last seen before a time, the eldest first, with the secure strings that they
  /// defined and their lines at gates. The highest of their generations becomes the floor, unless that is higher;
  /// so does the highest of their lines.
  ///
  /// - Parameters:
  ///   - time: The time.
  ///   - count: The most devices to drop.
  /// - Returns: The number of devices dropped.
  /// - Throws: ``StoreError``.
  func dropDevices(lastSeenBefore time: UnixTime, atMost count: Int) throws(StoreError) -> Int

  /// The highest generation of a device that was dropped; 0 for none.
  func generationFloor() throws(StoreError) -> UInt32

  /// The highest generation of a device's own line at a gate, which is apart from ``DeviceRow/generation``; nil if
  /// it has none.
  func generation(of device: InstanceID, at gate: GateID) throws(StoreError) -> UInt32?

  /// The highest generation, at any gate, of a device that was dropped; 0 for none.
  func gateGenerationFloor() throws(StoreError) -> UInt32

  /// The row of a device.
  func device(_ id: InstanceID) throws(StoreError) -> DeviceRow?

  /// All that a request needs first, in one reading: the revision, the row of a device, and the mark
  /// of a salt.
  ///
  /// The revision and the row are of one moment. The mark spares a caller the work of judging a
  /// replay. Only ``use(_:)`` decides.
  ///
  /// - Parameters:
  ///   - id: The device.
  ///   - salt: A salt that the device was given; nil for no mark.
  /// - Returns: What was found.
  /// - Throws: ``StoreError``.
  func glance(at id: InstanceID, and salt: SaltPlace?) throws(StoreError) -> StoreGlance

  /// The devices seen last, the latest first.
  func devices(latest count: Int) throws(StoreError) -> [DeviceRow]

  /// The number of devices.
  func counts() throws(StoreError) -> StoreCounts

  /// The devices seen last, for people to look at: a store with replicas reads them there. No decision may rest on
  /// them. The default reads ``devices(latest:)``.
  func surveyedDevices(latest count: Int) throws(StoreError) -> Surveyed<[DeviceRow]>

  /// The number of devices, for people to look at. The default reads ``counts()``.
  func surveyedCounts() throws(StoreError) -> Surveyed<StoreCounts>
}

/// The rows of a store, or of its state at one revision.
public protocol RowReader: Sendable {
  /// One row, or nil.
  func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]?

  /// All rows of a table, in the order of their keys' UTF-8 bytes.
  func rows(of table: StoreTable) throws(StoreError) -> [StoreRow]
}

extension Store {
  /// Waits for the outcome, then tells it.
  public func use(
    _ use: SaltUse, _ done: @escaping @Sendable (Result<SaltOutcome, StoreError>) -> Void
  ) {
    do throws(StoreError) {
      done(.success(try self.use(use)))
    } catch {
      done(.failure(error))
    }
  }

  /// Nil: the store's machine has one clock.
  public func sharedTime() throws(StoreError) -> UnixTime? { nil }

  /// The devices seen last, as they are at present.
  public func surveyedDevices(latest count: Int) throws(StoreError) -> Surveyed<[DeviceRow]> {
    Surveyed(try devices(latest: count), .present)
  }

  /// The number of devices at present.
  public func surveyedCounts() throws(StoreError) -> Surveyed<StoreCounts> {
    Surveyed(try counts(), .present)
  }

  /// The revision and the row of a device.
  func glance(at id: InstanceID) throws(StoreError) -> StoreGlance { try glance(at: id, and: nil) }

  /// The revision and all rows of some tables: table by table, until the revision stays.
  public func image(of tables: [StoreTable]) throws(StoreError) -> StoreImage {
    while true {
      let before = try revision()
      var rows: [StoreTable: [StoreRow]] = [:]
      for table in tables { rows[table] = try self.rows(of: table) }
      if try revision() == before { return StoreImage(revision: before, rows) }
    }
  }
}

/// All rows of some tables of a store at one revision.
public struct StoreImage: RowReader, Hashable {
  /// The revision.
  public let revision: UInt64
  private let tables: [StoreTable: [StoreRow]]

  /// An image of these rows, each table's in the order of its keys' UTF-8 bytes.
  public init(revision: UInt64, _ tables: [StoreTable: [StoreRow]]) {
    self.revision = revision
    self.tables = tables
  }

  /// One row, or nil. The image must have its table.
  public func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    try rows(of: table).first { $0.key.utf8.elementsEqual(key.utf8) }?.value
  }

  /// All rows of a table, which the image must have.
  public func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] {
    guard let rows = tables[table] else { preconditionFailure("The image lacks a table.") }
    return rows
  }
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
  package var countsForRevision: Bool {
    contains { change in
      switch change {
      case .insert(let table, _, _), .put(let table, _, _), .remove(let table, _):
        table != .deviceString
      case .expect: false
      }
    }
  }
}

/// The store's row of a device.
public struct DeviceRow: Sendable, Hashable {
  /// The device.
  public var device: InstanceID
  /// The time when it was first seen.
  public var firstSeen: UnixTime
  /// The time when it was last seen.
  public var lastSeen: UnixTime
  /// The highest generation of a measurement.
  public var generation: UInt32
  /// The note of the last sighting.
  public var note: [UInt8]
  /// Grows with each sighting: a sighting is written only over the row that it was judged by.
  public var version: UInt64

  /// A row of these parts.
  public init(
    device: InstanceID, firstSeen: UnixTime, lastSeen: UnixTime, generation: UInt32, note: [UInt8],
    version: UInt64
  ) {
    self.device = device
    self.firstSeen = firstSeen
    self.lastSeen = lastSeen
    self.generation = generation
    self.note = note
    self.version = version
  }
}

/// The counts of a store.
public struct StoreCounts: Sendable, Hashable {
  /// Devices seen.
  public var devices: Int

  /// Counts of a store.
  public init(devices: Int) { self.devices = devices }
}

/// Content of a store that may be out of date, with its age.
public struct Surveyed<Content: Sendable>: Sendable {
  /// The devices, or their number.
  public var content: Content
  /// How far it may be behind the store.
  public var age: SurveyAge

  /// Content of an age.
  public init(_ content: Content, _ age: SurveyAge) {
    self.content = content
    self.age = age
  }
}

/// The age of a reading.
public enum SurveyAge: Sendable, Hashable {
  /// It is of the store itself, not of a copy.
  case present
  /// It has all changes that were acknowledged longer ago than this.
  case atMost(seconds: Int64)
  /// It is of a copy that cannot tell its age.
  case unknown
}
