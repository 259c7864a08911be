// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

// Gates: their settings, revocations, events, and the configuration that they judge by. The rotation of their
// keys is in ManagementGateKeys.swift.

extension Management {
  /// The gates, by name.
  public func gates() throws(ServiceError) -> [Gate] { try store.all(Gate.self) }

  /// One gate.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func gate(_ name: String) throws(ServiceError) -> Gate { try one(name, Gate.self) }

  /// Adds a gate, with fresh account and issuer keys.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 lower-case letters, digits, dots, hyphens and underscores.
  ///   - publicKey: The X25519 key that the gate made.
  ///   - id: Its id; nil for a fresh one.
  ///   - mode: Whether it is for the field.
  ///   - settings: Its settings.
  /// - Returns: The gate.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func addGate(
    _ name: String, publicKey: [UInt8], id: GateID? = nil, mode: Mode = .production,
    settings: GateSettings = GateSettings()
  ) throws(ServiceError) -> Gate {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
      default: false
      }
    }
    guard isPlain, (1...64).contains(name.utf8.count) else {
      throw .invalid(
        "name of the gate", value: String(name.prefix(80)),
        allowed: "1 to 64 lower-case letters, digits, “.”, “-” and “_”")
    }
    let others = try gates()
    guard others.count < Gate.countMax else {
      throw .invalid(
        "number of gates", value: "\(others.count + 1)", allowed: "at most \(Gate.countMax)")
    }
    let id = id ?? GateID.random()
    guard !others.contains(where: { $0.id == id }) else {
      throw .alreadyThere("gate of the id", name: id.description)
    }
    var gate = Gate(name, id, mode, added: now, keys: [:])
    for kind in Gate.KeyKind.allCases {
      let key = try freshKey(kind, of: gate, publicKey: kind == .key ? publicKey : nil)
      gate.keys[kind] = KeyStages(active: key)
    }
    try settings.apply(to: &gate)
    try add(gate)
    return gate
  }

  /// Changes settings of a gate. They count from the next admission and the next configuration on.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  public func changeGate(_ name: String, _ settings: GateSettings) throws(ServiceError) {
    try rewriteGate(name) { gate throws(ServiceError) in try settings.apply(to: &gate) }
  }

  /// Removes a gate that no API, event or challenge names.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/inUse(_:by:)``.
  public func removeGate(_ name: String) throws(ServiceError) {
    let hosts = try apis().filter { $0.gate == name }.map(\.host)
    let events = try self.events().filter { $0.gate == name }
    let challenges = try self.challenges().filter { $0.gate == name }
    let users =
      hosts + events.map { "event \(EventRange.text(of: $0.numbers))" }
      + challenges.map { "challenge \($0.name)" }
    guard users.isEmpty else { throw .inUse("gate “\(name)”", by: users.joined(separator: ", ")) }
    try removeCredentials(of: name)
    try remove(name, Gate.self)
  }

  /// Revokes the tokens that one installation has of a gate. The next configuration carries it, until the last
  /// of these tokens has ended. The installation can fetch another token: a rule of the device (`device fail`) says
  /// what it gets.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)`` for a device that was never admitted to the gate.
  public func revoke(_ device: InstanceID, at name: String) throws(ServiceError) {
    let id = try gate(name).id
    let line = try ServiceError.ofStore { () throws(StoreError) in
      try store.generation(of: device, at: id)
    }
    guard let line else {
      throw .unknown("admission of the device at this gate", name: device.description)
    }
    let now = now
    try rewriteGate(name) { gate throws(ServiceError) in
      gate.revocations.removeAll { $0.device == device || $0.end < now }
      guard gate.revocations.count < Gate.revocationsMax else {
        throw .invalid(
          "number of revocations", value: "\(gate.revocations.count + 1)",
          allowed: "at most \(Gate.revocationsMax) at one time; the floor supersedes all tokens")
      }
      let end = now + Int64(Gate.lives.upperBound) + Self.endMargin
      gate.revocations.append(Gate.Revocation(device: device, generation: line, end: end))
    }
  }

  // MARK: Events

  /// The events, in ascending order.
  public func events() throws(ServiceError) -> [EventRange] {
    try EventRanges(of: store).all
  }

  /// Lists a range of event numbers.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)`` for the gate, ``ServiceError/alreadyThere(_:name:)`` for a
  ///   number that is listed already, ``ServiceError/invalid(_:value:allowed:)``.
  public func addEvents(_ range: EventRange) throws(ServiceError) {
    _ = try gate(range.gate)
    guard (1...EventRange.audienceMax).contains(range.audience.utf8.count),
      range.audience.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F })
    else {
      throw .invalid(
        "audience", value: String(range.audience.prefix(80)),
        allowed: "1 to \(EventRange.audienceMax) visible ASCII characters")
    }
    guard (1...86_400).contains(range.life) else {
      throw .invalid("life", value: "\(range.life)", allowed: "1 to 86400 seconds")
    }
    guard (0...255).contains(range.measured) else {
      throw .invalid("measured", value: "\(range.measured)", allowed: "0 to 255 seconds")
    }
    try rewrite(.events, absent: EventRanges()) { events throws(ServiceError) in
      guard !events.overlaps(range.numbers) else {
        throw .alreadyThere("event", name: EventRange.text(of: range.numbers))
      }
      guard events.all.count(where: { $0.gate == range.gate }) < GateAdmission.eventCountMax else {
        throw .invalid(
          "number of event ranges", value: "\(GateAdmission.eventCountMax + 1)",
          allowed: "at most \(GateAdmission.eventCountMax) of one gate")
      }
      events.all.append(range)
      events.all.sort { $0.numbers.lowerBound < $1.numbers.lowerBound }
    }
  }

  /// Removes a range of event numbers, as it was listed.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeEvents(_ numbers: ClosedRange<UInt16>) throws(ServiceError) {
    try rewrite(.events, absent: EventRanges()) { events throws(ServiceError) in
      guard let index = events.all.firstIndex(where: { $0.numbers == numbers }) else {
        throw .unknown("event", name: EventRange.text(of: numbers))
      }
      events.all.remove(at: index)
    }
  }

  func rewriteGate(
    _ name: String, _ change: (inout Gate) throws(ServiceError) -> Void
  ) throws(ServiceError) {
    try rewrite(name, of: .gate) { present throws(ServiceError) in
      guard let present else { throw .unknown(Gate.noun, name: String(name.prefix(80))) }
      var gate = try Gate(StoreRow(name, present))
      try change(&gate)
      return gate.bytes
    }
  }
}

/// Settings of a gate. Parts that are nil stay.
public struct GateSettings: Sendable, Hashable {
  /// How many seconds gate tokens live, 60 to 86,400.
  public var life: Int?
  /// Gate tokens issued before this second are superseded; 0 for none.
  public var floor: UnixTime?
  /// The form of request proofs.
  public var form: GateAdmission.Form?
  /// How many seconds old a measurement may be that a proof rests on, 0 to 10.
  public var freshness: Int?
  /// The header field of the compact proof.
  public var proofHeader: String?
  /// The header field of the gate token.
  public var tokenHeader: String?
  /// The header field of the covered digest; empty for none.
  public var digestHeader: String?

  /// Settings that change nothing.
  public init() {}

  func apply(to gate: inout Gate) throws(ServiceError) {
    if let life {
      guard Gate.lives.contains(life) else {
        throw .invalid("life", value: "\(life)", allowed: "60 to 86400 seconds")
      }
      gate.life = life
    }
    if let floor {
      guard floor >= 0 else { throw .invalid("floor", value: "\(floor)", allowed: "Unix seconds") }
      gate.floor = floor
    }
    if let form { gate.form = form }
    if let freshness {
      guard (0...10).contains(freshness) else {
        throw .invalid("freshness", value: "\(freshness)", allowed: "0 to 10 seconds")
      }
      gate.freshness = freshness
    }
    if let proofHeader { gate.headers.proof = proofHeader.lowercased() }
    if let tokenHeader { gate.headers.token = tokenHeader.lowercased() }
    if let digestHeader {
      gate.headers.digest = digestHeader.isEmpty ? nil : digestHeader.lowercased()
    }
    do {
      try gate.headers.check()
    } catch {
      throw .invalid(
        "header fields", value: gate.headers.names.joined(separator: ", "),
        allowed: "different names of 1 to 64 letters, digits, “-” and “_”")
    }
  }
}
