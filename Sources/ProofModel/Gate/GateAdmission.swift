// SPDX-License-Identifier: Apache-2.0

/// Everything that an app needs to prove itself to one gate: the service's answer to a report of purpose
/// ``AttestationPurpose/gate``. docs/SERVICE.md, section 9, has the layout. Secret for its account key.
///
/// An app that failed its attestation gets one of the same size and shape. Only the gate can read
/// from the token that the app failed.
public struct GateAdmission: Sendable {
  /// The form of a request proof that the gate's routes take. The numbers are the wire's.
  public enum Form: UInt8, Sendable, CaseIterable {
    /// RFC 9421: `Signature-Input` and `Signature`.
    case standard = 1
    /// One header of 88 characters over method, URL, body and authorization.
    case compact = 2
    /// One header of 88 characters over the body alone.
    case body = 3
  }

  /// The names of the header fields that an app sends, in lower case.
  public struct Headers: Sendable, Hashable {
    /// Carries the proof of the forms ``Form/compact`` and ``Form/body``.
    public var proof: String
    /// Carries the gate token.
    public var token: String
    /// Carries the digest of what a compact proof covers, so that a gate can tell which part differs; nil for
    /// none.
    public var digest: String?

    /// Names of header fields.
    public init(proof: String = "proof", token: String = "proof-token", digest: String? = nil) {
      self.proof = proof
      self.token = token
      self.digest = digest
    }
  }

  /// A range of event numbers that one audience judges.
  public struct Events: Sendable, Hashable {
    /// The numbers.
    public let numbers: ClosedRange<UInt16>
    /// The redeemers that hold the keys of these events.
    public let audience: AudienceID
    /// How many seconds a token of these events counts.
    public let life: UInt32

    /// Events of one audience.
    ///
    /// - Parameters:
    ///   - numbers: The numbers.
    ///   - audience: The redeemers that hold the keys of these events.
    ///   - life: How many seconds a token counts, 1 to 86,400.
    public init(_ numbers: ClosedRange<UInt16>, for audience: AudienceID, life: UInt32) {
      self.numbers = numbers
      self.audience = audience
      self.life = life
    }
  }

  /// The gate.
  public let gate: GateID
  /// The generation of the gate's own line of configurations, 1 to 2^32 - 2.
  public let generation: UInt32
  /// How many seconds the token counts from when the service made it, 1 to 86,400.
  ///
  /// An app counts from before it sent its report, so that neither a wrong clock nor a slow answer makes it late.
  public let life: UInt32
  /// Sent to the gate as it is. The app cannot read it.
  public let token: GateToken
  /// The key for the names of user accounts; nil if the gate knows none.
  public let accountKey: GateAccountKey?
  /// The form of a request proof.
  public let form: Form
  /// The names of the header fields.
  public let headers: Headers
  /// How many seconds old a measurement may be that a proof rests on, 0 to 10.
  public let freshness: UInt8
  /// The APIs of the gate, in the ascending order of their bytes. No proof leaves for another host.
  public let hosts: [String]
  /// The events of the gate in ascending order; no number stands in two of them.
  public let events: [Events]

  /// The seconds that ``life`` and the life of an event may have.
  public static let lives: ClosedRange<UInt32> = 1...86_400
  /// The seconds that ``freshness`` may have.
  public static let freshnesses: ClosedRange<UInt8> = 0...10
  /// How many hosts a gate may have.
  public static let hostCountMax = 64
  /// How many ranges of events a gate may have.
  public static let eventCountMax = 256
  /// How many characters the name of a header field may have.
  public static let headerMax = 64
  /// How many characters a host may have, with its port.
  public static let hostMax = 253
  /// How many bytes an admission may have.
  public static let byteCountMax = 32_768

  /// Describes an admission.
  ///
  /// - Parameters:
  ///   - gate: The gate.
  ///   - generation: The generation of the gate's own line of configurations.
  ///   - life: How many seconds the token counts.
  ///   - token: The gate token.
  ///   - accountKey: The key for the names of user accounts.
  ///   - form: The form of a request proof.
  ///   - headers: The names of the header fields, in lower case.
  ///   - freshness: How many seconds old a measurement may be that a proof rests on.
  ///   - hosts: The APIs of the gate, in any order.
  ///   - events: The events of the gate, in any order.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)`` for what the layout does not allow,
  ///   ``ProofError/differs(_:)`` for a token of another gate.
  public init(
    gate: GateID, generation: UInt32, life: UInt32, token: GateToken, accountKey: GateAccountKey?,
    form: Form = .standard, headers: Headers = Headers(), freshness: UInt8 = 0, hosts: [String],
    events: [Events] = []
  ) throws(ProofError) {
    self.gate = gate
    self.generation = generation
    self.life = life
    self.token = token
    self.accountKey = accountKey
    self.form = form
    self.headers = headers
    self.freshness = freshness
    self.hosts = hosts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    self.events = events.sorted { $0.numbers.lowerBound < $1.numbers.lowerBound }
    try check()
  }

  /// The events that a number is among.
  ///
  /// - Parameter number: An event's number.
  /// - Returns: Their audience and life; nil if the gate has no such event.
  public func events(of number: UInt16) -> Events? { events.first { $0.numbers.contains(number) } }

  /// Whether proofs and events may be sent to a host.
  ///
  /// - Parameter host: A host in lower case, with its port unless that is the scheme's.
  /// - Returns: Whether the account lists it for this gate.
  public func covers(_ host: String) -> Bool {
    hosts.contains { $0.utf8.elementsEqual(host.utf8) }
  }

  private func check() throws(ProofError) {
    try Self.check(generation, in: 1...(.max - 1), "generation")
    try Self.check(life, in: Self.lives, "life of a gate token")
    try Self.check(freshness, in: Self.freshnesses, "freshness")
    try headers.check()
    try Self.check(hosts.count, in: 1...Self.hostCountMax, "number of hosts")
    for host in hosts { try Self.check(host: host) }
    for (host, next) in zip(hosts, hosts.dropFirst())
    where !host.utf8.lexicographicallyPrecedes(next.utf8) {
      throw .outOfRange(field: "host", value: next, allowed: "each once, in ascending order")
    }
    try Self.check(events.count, in: 0...Self.eventCountMax, "number of event ranges")
    for range in events { try Self.check(range.life, in: Self.lives, "life of an event") }
    for (range, next) in zip(events, events.dropFirst())
    where range.numbers.upperBound >= next.numbers.lowerBound {
      throw .outOfRange(
        field: "event", value: "\(next.numbers.lowerBound)",
        allowed: "each number once, in ascending order")
    }
    // The token's header names the first three bytes of its gate.
    let isHinted = gate.withBytes { id in
      (0..<3).allSatisfy { token.bytes[5 + $0] == id[$0] }
    }
    guard isHinted else { throw .differs("gate of the token") }
  }

  private static func check<Value: Comparable & Sendable>(
    _ value: Value, in allowed: ClosedRange<Value>, _ field: String
  ) throws(ProofError) {
    guard allowed.contains(value) else {
      throw .outOfRange(
        field: field, value: "\(value)", allowed: "\(allowed.lowerBound) to \(allowed.upperBound)")
    }
  }

  private static func check(host: String) throws(ProofError) {
    let isHost = host.utf8.allSatisfy { byte in
      switch byte {
      case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x3A, 0x5B, 0x5D: true
      default: false
      }
    }
    guard isHost, (1...hostMax).contains(host.utf8.count) else {
      throw .outOfRange(
        field: "host", value: String(host.prefix(80)),
        allowed: "1 to \(hostMax) characters such as api.example.com")
    }
  }
}

extension GateAdmission.Headers {
  /// The names that are there.
  package var names: [String] { [proof, token] + [digest].compactMap(\.self) }

  /// Refuses a name that is no `token` of RFC 9110 in lower case, and two that are the same.
  ///
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  package func check() throws(ProofError) {
    for name in names {
      let isToken = name.utf8.allSatisfy { byte in
        switch byte {
        case 0x61...0x7A, 0x30...0x39: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
      guard isToken, (1...GateAdmission.headerMax).contains(name.utf8.count) else {
        throw .outOfRange(
          field: "header field", value: String(name.prefix(80)),
          allowed: "1 to \(GateAdmission.headerMax) characters: lower-case letters, digits and "
            + "!#$%&'*+-.^_`|~")
      }
    }
    guard Set(names).count == names.count else {
      throw .outOfRange(
        field: "header fields", value: names.joined(separator: ", "), allowed: "each name once")
    }
  }
}

extension GateAdmission {
  private static let version: UInt8 = 1
  private static let noun = "gate admission"

  /// Reads and checks an admission.
  ///
  /// - Parameter bytes: The admission's bytes, as an answer carries them.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    guard bytes.count <= Self.byteCountMax else {
      throw .malformed(Self.noun, byteCount: bytes.count)
    }
    var reader = AttestationReader(part: bytes, noun: Self.noun)
    guard try reader.readByte() == Self.version else { throw .tooNew(Self.noun) }
    do throws(ProofError) {
      try self.init(from: &reader)
    } catch .tooNew(let noun) {
      throw .tooNew(noun)
    } catch {
      throw reader.malformed
    }
  }

  private init(from reader: inout AttestationReader) throws(ProofError) {
    gate = try reader.read(GateID.self)
    generation = try reader.readUInt32()
    life = try reader.readUInt32()
    token = try GateToken(Array(reader.take(GateToken.byteCount)))
    accountKey = try reader.readAccountKey()
    guard let form = Form(rawValue: try reader.readByte()) else { throw reader.malformed }
    self.form = form
    freshness = try reader.readByte()
    let proof = try reader.readText(max: Self.headerMax)
    let token = try reader.readText(max: Self.headerMax)
    let digest = try reader.readText(max: Self.headerMax)
    headers = Headers(proof: proof, token: token, digest: digest.isEmpty ? nil : digest)
    var hosts: [String] = []
    for _ in 0..<(try reader.readByte()) { hosts.append(try reader.readText(max: Self.hostMax)) }
    self.hosts = hosts
    var events: [Events] = []
    for _ in 0..<(try reader.readUInt16()) {
      let first = try reader.readUInt16()
      let last = try reader.readUInt16()
      guard first <= last else { throw reader.malformed }
      events.append(
        try Events(
          first...last, for: reader.read(AudienceID.self), life: reader.readUInt32()))
    }
    self.events = events
    try reader.finish()
    try check()
  }

  /// The admission's bytes, as an answer carries them. They hold the account key.
  public var bytes: [UInt8] {
    var writer = AttestationWriter(part: Self.version)
    writer.write(gate)
    writer.write(generation)
    writer.write(life)
    writer.write(raw: token.bytes)
    writer.write(accountKey?.number ?? 0)
    accountKey?.withBytes { writer.write($0) }
    writer.write(form.rawValue)
    writer.write(freshness)
    writer.write(text: headers.proof)
    writer.write(text: headers.token)
    writer.write(text: headers.digest ?? "")
    writer.write(UInt8(hosts.count))
    for host in hosts { writer.write(text: host) }
    writer.write(UInt16(events.count))
    for range in events {
      writer.write(range.numbers.lowerBound)
      writer.write(range.numbers.upperBound)
      writer.write(range.audience)
      writer.write(range.life)
    }
    return writer.bytes
  }
}

extension AttestationReader {
  fileprivate mutating func readAccountKey() throws(ProofError) -> GateAccountKey? {
    let number = try readByte()
    guard number > 0 else { return nil }
    let bytes = Array(try take(GateAccountKey.byteCount))
    return try GateAccountKey(SecretBytes(copying: bytes.span), number: number)
  }
}

extension GateAdmission: Hashable {
  /// Compares in time that depends on the sizes alone.
  public static func == (left: GateAdmission, right: GateAdmission) -> Bool {
    CoreCrypto.equal(left.bytes.span, right.bytes.span)
  }

  /// Hashes the gate and the generation, because a hash of the key could leak it.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(gate)
    hasher.combine(generation)
  }
}

extension GateAdmission: CustomStringConvertible, CustomReflectable {
  /// The public part.
  public var description: String {
    "gate admission: gate \(gate), generation \(generation), \(life) s, \(hosts.count) hosts, "
      + "\(events.count) event ranges"
  }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
