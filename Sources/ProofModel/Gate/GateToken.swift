// SPDX-License-Identifier: Apache-2.0

/// A public key of a gate, to which gate tokens are sealed.
public struct GatePublicKey: Sendable, Hashable {
  /// The key's number: it stands in the token's header. Two keys of one gate have different numbers.
  public let number: UInt8
  let storage: InlineBytes<32>

  init(number: UInt8, storage: InlineBytes<32>) {
    self.number = number
    self.storage = storage
  }

  /// Checks and takes a key.
  ///
  /// - Parameters:
  ///   - bytes: The X25519 key, 32 bytes that are not all zeros.
  ///   - number: Its number.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, ``ProofError/allZeros(of:)``.
  public init(_ bytes: [UInt8], number: UInt8) throws(ProofError) {
    storage = try InlineBytes(bytes.span, of: "gate public key")
    if storage.isZero { throw .allZeros(of: "gate public key") }
    self.number = number
  }

  /// The key's 32 bytes.
  public var bytes: [UInt8] { storage.withSpan { span in span.indices.map { span[$0] } } }

  /// Whether number and key are equal.
  public static func == (left: GatePublicKey, right: GatePublicKey) -> Bool {
    left.number == right.number && left.storage.isEqual(to: right.storage)
  }

  /// Hashes the number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A finding of the SDK about its process (docs/MANAGEMENT.md), as a gate token names it.
public struct GateFinding: Sendable, Hashable, Comparable {
  /// How many findings a token has room for.
  public static var countMax: Int { CoreWire.findingsMax }
  /// The class, 1 to 3.
  public let category: UInt8
  /// The number within the class, 1 to 255.
  public let number: UInt8

  /// Names a finding.
  public init(category: UInt8, number: UInt8) {
    self.category = category
    self.number = number
  }

  /// In the order of a token.
  public static func < (left: GateFinding, right: GateFinding) -> Bool {
    (left.category, left.number) < (right.category, right.number)
  }
}

/// The content of a gate token: facts about one app instance, and its ``secret``. Secret.
///
/// The service makes one and seals it; the gate opens the token and has it again.
public struct GateGrant: Sendable {
  /// The longest life of a token in seconds.
  public static var lifeMax: UInt64 { CoreWire.gateLife }
  /// How many bytes of the app digest a token carries.
  public static var appByteCount: Int { CoreWire.gateApp }

  /// The gate that may open it.
  public var gate: GateID
  /// The app instance it is about.
  public var instance: InstanceID
  /// Production or development.
  public var mode: Mode
  /// Whether the app failed its attestation: the route's rule for failed apps applies.
  public var isFailed = false
  /// Whether an operator decided about this device.
  public var isForced = false
  /// The time when it was issued.
  public var issued: UnixTime
  /// The last second in which it counts.
  public var notAfter: UnixTime
  /// The time when the service saw the instance first.
  public var firstSeen: UnixTime
  /// Bit n for the property of number n.
  public var properties: UInt32 = 0
  /// The response code; nil for none.
  public var responseCode: String?
  /// The findings, in strictly increasing order.
  public var findings: [GateFinding] = []
  /// The first 16 bytes of the app digest; nil for none.
  public var app: [UInt8]?
  /// The secret of this gate, instance and generation.
  public let secret: GateSecret
  /// The issuer's name; nil until it was opened from a token.
  public internal(set) var issuer: IssuerID?
  /// The number of the gate's key that it was sealed to; nil until it was opened from a token.
  public internal(set) var keyNumber: UInt8?

  /// Describes the content of a token.
  ///
  /// - Parameters:
  ///   - gate: The gate that may open it.
  ///   - instance: The app instance it is about.
  ///   - mode: The mode of the key that the secret was made with.
  ///   - issued: The time of issue, after 1970 began. Fractions of seconds are not written.
  ///   - notAfter: The last second, from `issued` to 24 hours later.
  ///   - firstSeen: The time when the service saw the instance first, at most `issued`.
  ///   - secret: Made for this gate and instance.
  public init(
    for gate: GateID, instance: InstanceID, mode: Mode, issued: UnixTime, notAfter: UnixTime,
    firstSeen: UnixTime, secret: GateSecret
  ) {
    self.gate = gate
    self.instance = instance
    self.mode = mode
    self.issued = issued
    self.notAfter = notAfter
    self.firstSeen = firstSeen
    self.secret = secret
  }

  /// Signs the grant, then seals it to one key of the gate.
  ///
  /// - Parameters:
  ///   - recipient: The gate's key.
  ///   - issuer: The service's key for gates; no lock knows it.
  ///   - ephemeral: 32 fresh random bytes. They are consumed, because no two tokens may share them.
  /// - Returns: The token.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)`` for a field out of range,
  ///   ``ProofError/unusableGateKey(number:)``, ``ProofError/wrongLength(of:expected:actual:)``.
  public func sealed(
    to recipient: GatePublicKey, signedBy issuer: IssuerKey,
    ephemeral: consuming SecretBytes = .random(count: 32)
  ) throws(ProofError) -> GateToken {
    try CoreGate.seal(self, to: recipient, signedBy: issuer.core, ephemeral: ephemeral)
  }
}

extension GateGrant: CustomStringConvertible, CustomReflectable {
  /// The gate and the life. The instance id is not told: a gate's log names handles.
  public var description: String {
    "gate grant: \(mode), gate \(gate), generation \(secret.generation), "
      + "issued \(issued), not after \(notAfter)\(isFailed ? ", failed" : "")"
  }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["gate": gate]) }
}

/// A grant, signed by the service and sealed to one gate: 288 bytes that the app carries and cannot read.
public struct GateToken: Sendable, Hashable {
  /// How many bytes a token has.
  public static var byteCount: Int { CoreWire.gateToken }

  /// The token's bytes.
  public let bytes: [UInt8]

  /// Checks what can be checked without the gate's key: length, magic, version and suite.
  ///
  /// - Parameter bytes: A token's bytes.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    try CoreWire.check(bytes, CoreWire.gateToken, CoreWire.gateTokenMagic, "gate token")
    self.bytes = bytes
  }

  init(sealed bytes: [UInt8]) { self.bytes = bytes }
}

/// The part of a gate that opens tokens: its identity with the secret keys, and the issuers it trusts.
public struct GateIdentity: Sendable {
  /// How many X25519 keys a gate holds while it rotates.
  public static var keyCountMax: Int { CoreWire.gateKeysMax }

  /// One X25519 key of a gate. Secret.
  public struct Key: Sendable {
    /// The public half.
    public let publicKey: GatePublicKey
    let secret: CoreSharedSecret

    /// Takes a secret key over.
    ///
    /// - Parameters:
    ///   - secret: 32 random bytes that are not all zeros.
    ///   - number: Its number.
    /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, ``ProofError/allZeros(of:)``.
    public init(_ secret: consuming SecretBytes, number: UInt8) throws(ProofError) {
      publicKey = try CoreGate.publicKey(of: secret, number: number)
      self.secret = CoreSharedSecret(secret)
    }
  }

  /// The gate's name.
  public let id: GateID
  /// The public halves of its keys.
  public let publicKeys: [GatePublicKey]
  let core: CoreGate

  /// Puts a gate together.
  ///
  /// - Parameters:
  ///   - id: The gate's name.
  ///   - keys: One key, or two with different numbers while the gate rotates.
  ///   - issuers: One to four keys whose signatures count. No lock trusts them.
  ///   - mode: Tokens of the other mode are refused.
  ///   - floor: Tokens issued before are superseded; nil for none.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(
    id: GateID, keys: [Key], issuers: [IssuerPublicKey], mode: Mode, floor: UnixTime? = nil
  ) throws(ProofError) {
    guard (1...Self.keyCountMax).contains(keys.count),
      Set(keys.map(\.publicKey.number)).count == keys.count
    else {
      throw .outOfRange(
        field: "keys of a gate", value: "\(keys.map(\.publicKey.number))",
        allowed: "one, or two with different numbers")
    }
    guard (1...HardwareKeys.issuerCountMax).contains(issuers.count) else {
      throw .outOfRange(
        field: "number of issuers", value: "\(issuers.count)",
        allowed: "1 to \(HardwareKeys.issuerCountMax)")
    }
    self.id = id
    publicKeys = keys.map(\.publicKey)
    core = CoreGate(id: id, keys: keys, issuers: issuers, mode: mode, floor: floor?.unsigned ?? 0)
  }

  /// Refuses at no public-key work a token that is not for this gate.
  ///
  /// - Parameter bytes: The bytes that a client sent.
  /// - Throws: ``GateRefusal``.
  public func checkHead(of bytes: [UInt8]) throws(GateRefusal) { try core.checkHead(of: bytes) }

  /// Opens a token. The caller looks up revocations by instance and generation afterwards.
  ///
  /// - Parameters:
  ///   - bytes: The bytes that a client sent.
  ///   - now: The highest time that the node has seen.
  /// - Returns: The grant.
  /// - Throws: ``GateRefusal``.
  public func open(_ bytes: [UInt8], at now: UnixTime) throws(GateRefusal) -> GateGrant {
    try core.open(bytes, at: now.unsigned)
  }
}

extension GateIdentity: CustomStringConvertible, CustomReflectable {
  /// The gate's public name; never a key.
  public var description: String { "GateIdentity(\(id))" }

  /// Shows the public side.
  public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

extension GateIdentity.Key: CustomStringConvertible, CustomReflectable {
  /// The key's number; never the key.
  public var description: String { "GateIdentity.Key(number \(publicKey.number))" }

  /// Shows the public half.
  public var customMirror: Mirror { Mirror(self, children: ["publicKey": publicKey]) }
}
