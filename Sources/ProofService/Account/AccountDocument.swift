// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// The account's own documents: rows of the table `account`.
enum AccountDocument: String, CaseIterable {
  /// Name of the account, and its key, locked.
  case lock
  /// The secret of HS256, sealed.
  case secret
  /// The key that signs custom tokens, sealed.
  case customKey
  /// The key that seals measurement tokens, sealed.
  case sealingKey
  /// Serial, address and key of the configuration.
  case configuration
  /// The policy.
  case policy
  /// The development key, sealed; no row if there is none.
  case developmentKey
  /// The key that apps sign messages with, sealed, and its name; no row if there is none.
  case messageKey
  /// The secret that the keys of installations' own strings are derived from, sealed.
  case stringKey
  /// The keys that authenticate the salts of challenges, sealed, and their epoch.
  case saltKey
  /// The key that seals the factory secrets of hardware, sealed.
  case factoryKey
  /// The hash of the management token.
  case management
  /// The events; no row if there are none.
  case events
  /// The named challenges; no row if there are none.
  case challenges
  /// The risk rules; no row if there are none.
  case risks

  func put(_ fields: JSONObject) -> StoreChange {
    .put(.account, rawValue, Array(JSONValue.object(fields).text.utf8))
  }

  /// The error of a document that cannot be read.
  var damage: ServiceError { .damaged("document “\(rawValue)”") }

  /// The fields of a document; nil if there is no such document.
  func read(from store: any RowReader) throws(ServiceError) -> JSONObject? {
    let row: [UInt8]?
    do { row = try store.row(rawValue, of: .account) } catch { throw .store(error) }
    guard let row else { return nil }
    return try fields(in: row)
  }

  /// The fields of a document that each account has.
  func needed(from store: any RowReader) throws(ServiceError) -> JSONObject {
    guard let fields = try read(from: store) else { throw damage }
    return fields
  }

  /// The value of a document; nil if there is no such document.
  func read<Value: DocumentValue>(
    _: Value.Type, from store: any RowReader
  ) throws(ServiceError) -> Value? {
    try read(from: store).map { fields throws(ServiceError) in try value(fields) }
  }

  /// The value of a document that each account has.
  func needed<Value: DocumentValue>(
    _: Value.Type, from store: any RowReader
  ) throws(ServiceError) -> Value {
    try value(needed(from: store))
  }

  /// The value in a row of a document.
  func value<Value: DocumentValue>(in row: [UInt8]) throws(ServiceError) -> Value {
    try value(fields(in: row))
  }

  private func value<Value: DocumentValue>(_ fields: JSONObject) throws(ServiceError) -> Value {
    guard let value = Value(fields) else { throw damage }
    return value
  }

  /// The fields in a row of a document.
  func fields(in row: [UInt8]) throws(ServiceError) -> JSONObject {
    guard case .object(let fields) = try? JSONValue(parsing: row.span) else { throw damage }
    return fields
  }
}

/// A value that is a whole account document.
protocol DocumentValue {
  /// Reads the output of ``fields``; nil if it cannot be that.
  init?(_ fields: JSONObject)
  var fields: JSONObject { get }
}

/// The settings of an account's configuration beside APIs and pins.
public struct ConfigurationSettings: Sendable, Hashable {
  /// Grows with every change of the configuration.
  public var serial: UInt32
  /// The serial below which a configuration's pins must be replaced at once.
  public var forcedPinsSerial: UInt32
  /// The service's address, such as `https://attest.example.com:8443`.
  public var url: String
  /// The address to use while ``url`` does not answer; nil for none.
  public var failover: String?
  /// The service's addresses in other regions, by the region's name.
  public var regions: [String: RegionAddresses] = [:]
  /// Pins of the service itself; empty if it is not pinned.
  public var servicePins: [String]
  /// The time when it was last changed.
  public var changed: UnixTime
  /// The statements that lead apps from the account's first key to the present one; see SERVICE.md,
  /// section 6.
  public internal(set) var handovers: [String] = []

  var fields: JSONObject {
    var fields: JSONObject = ["url": .string(url)]
    fields.set("serial", Int64(serial))
    fields.set("forcedPinsSerial", Int64(forcedPinsSerial))
    fields.set("servicePins", servicePins)
    fields.set("changed", changed)
    fields.set("failover", failover)
    if !regions.isEmpty { fields["regions"] = .object(RegionAddresses.object(regions)) }
    if !handovers.isEmpty { fields.set("handovers", handovers) }
    return fields
  }

  init(
    serial: UInt32, forcedPinsSerial: UInt32, url: String, servicePins: [String], changed: UnixTime
  ) {
    self.serial = serial
    self.forcedPinsSerial = forcedPinsSerial
    self.url = url
    self.servicePins = servicePins
    self.changed = changed
  }

  init?(_ fields: JSONObject) {
    guard let serial = fields.integer("serial").flatMap(UInt32.init(exactly:)),
      let forced = fields.integer("forcedPinsSerial").flatMap(UInt32.init(exactly:)),
      let url = fields.text("url"), let pins = fields.texts("servicePins"),
      let changed = fields.time("changed")
    else { return nil }
    self.init(
      serial: serial, forcedPinsSerial: forced, url: url, servicePins: pins, changed: changed)
    if fields["failover"] != nil {
      guard let failover = fields.text("failover") else { return nil }
      self.failover = failover
    }
    if let value = fields["regions"] {
      guard let regions = RegionAddresses.read(value) else { return nil }
      self.regions = regions
    }
    if fields["handovers"] != nil {
      guard let handovers = fields.texts("handovers") else { return nil }
      self.handovers = handovers
    }
  }
}
