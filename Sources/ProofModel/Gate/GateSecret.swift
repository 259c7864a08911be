// SPDX-License-Identifier: Apache-2.0

/// The secret between one gate and one app instance, for one generation: S of docs/SPEC.md, section 15.
///
/// The app makes it from a fresh measurement, the service from the measurement that it registered. It
/// leaves the service sealed, in a ``GateToken``, and never leaves the app. A copy signs until the token
/// ends, so the app drops it when its environment changes.
public struct GateSecret: Sendable {
  /// How many bytes a secret has.
  public static var byteCount: Int { CoreWire.gateSecret }

  /// The generation of the gate's own line of configurations.
  public let generation: UInt32
  let core: CoreGateSecret

  init(core: CoreGateSecret, generation: UInt32) {
    self.core = core
    self.generation = generation
  }

  /// Makes the secret of one app instance at one gate.
  ///
  /// - Parameters:
  ///   - measurement: A fresh measurement, or the one that the service registered.
  ///   - gate: The gate.
  ///   - instance: The app instance.
  ///   - generation: That of the gate's configuration, 1 to 2^32 - 2.
  ///   - key: The key of the app's SDK build.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(
    of measurement: Measurement, for gate: GateID, instance: InstanceID, generation: UInt32,
    with key: MeasurementProofKey
  ) throws(ProofError) {
    try Self.check(generation)
    core = CoreGateSecret(
      of: measurement.core, for: gate, instance: instance, generation: generation, with: key.core)
    self.generation = generation
  }

  /// Takes a secret that a node of a gate kept, or that a vector has.
  ///
  /// - Parameters:
  ///   - bytes: The secret, 32 bytes.
  ///   - generation: That of the gate's configuration, 1 to 2^32 - 2.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``,
  ///   ``ProofError/outOfRange(field:value:allowed:)``.
  package init(_ bytes: consuming SecretBytes, generation: UInt32) throws(ProofError) {
    try bytes.checkCount(Self.byteCount, of: "gate secret")
    try Self.check(generation)
    core = CoreGateSecret(bytes)
    self.generation = generation
  }

  /// A secret that no app can make: for the token of an app that failed its attestation.
  ///
  /// - Parameter generation: That of the gate's configuration, 1 to 2^32 - 2.
  /// - Returns: A secret of fresh random bytes.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public static func random(generation: UInt32) throws(ProofError) -> GateSecret {
    try check(generation)
    return GateSecret(core: CoreGateSecret.random(), generation: generation)
  }

  /// The keys of requests.
  public var keys: GateKeys { GateKeys(core: core.keys(generation), generation: generation) }

  /// The keys of event tokens for one audience: all that its redeemer may hold.
  ///
  /// - Parameter audience: The audience.
  /// - Returns: Keys from which no other audience's keys can be computed.
  public func eventKeys(for audience: AudienceID) -> CompactKeys {
    CompactKeys(core: core.eventKeys(generation, for: audience))
  }

  /// The keys of requests, in the room of a pool: for a verifier with the keys of many installations.
  package func keys(in pool: SecretPool) -> GateKeys {
    GateKeys(core: core.keys(generation, in: pool), generation: generation)
  }

  /// The keys of event tokens for one audience, in the room of a pool.
  package func eventKeys(for audience: AudienceID, in pool: SecretPool) -> CompactKeys {
    CompactKeys(core: core.eventKeys(generation, for: audience, in: pool))
  }

  static func check(_ generation: UInt32) throws(ProofError) {
    guard generation > 0, generation < .max else {
      throw .outOfRange(
        field: "generation", value: "\(generation)", allowed: "1 to 4294967294")
    }
  }
}

extension GateSecret: CustomStringConvertible, CustomReflectable {
  /// Says nothing about the secret.
  public var description: String { "GateSecret(secret, generation \(generation))" }

  /// Shows nothing of the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The keys of one app instance's requests at one gate. Secret, but for the handle.
public struct GateKeys: Sendable {
  /// The name under which the gate knows the instance: the key id of the standard form.
  public let handle: GateHandle
  /// The generation of the gate's own line of configurations.
  public let generation: UInt32
  let core: CoreGateKeys

  init(core: CoreGateKeys, generation: UInt32) {
    self.core = core
    self.generation = generation
    handle = core.handle
  }

  /// Lends the key of the standard form (RFC 9421, `hmac-sha256`): the only one for other libraries.
  ///
  /// - Parameter body: Reads the 32 bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withRequestKey<R: ~Copyable, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try core.withRequestKey(body)
  }

  /// The keys of the compact form.
  public var compact: CompactKeys { CompactKeys(core: core.compact()) }
}

extension GateKeys: CustomStringConvertible, CustomReflectable {
  /// The handle; never a key.
  public var description: String { "GateKeys(\(handle))" }

  /// Shows the handle.
  public var customMirror: Mirror { Mirror(self, children: ["handle": handle]) }
}

/// The keys of compact tokens: of one app instance's requests, or of its events for one audience. Secret,
/// but for the handle.
public struct CompactKeys: Sendable {
  /// The name that stands in each token.
  public let handle: GateHandle
  /// Whether these are keys of events.
  public let isForEvents: Bool
  let core: CoreCompactKeys

  init(core: CoreCompactKeys) {
    self.core = core
    handle = core.handle
    isForEvents = core.isForEvents
  }
}

extension CompactKeys: CustomStringConvertible, CustomReflectable {
  /// The handle; never a key.
  public var description: String { "CompactKeys(\(handle))" }

  /// Shows the handle.
  public var customMirror: Mirror { Mirror(self, children: ["handle": handle]) }
}

/// A gate's key for the names of user accounts. Secret.
///
/// A user account leaves the device only as a digest under this key. An attacker who extracts the key from
/// an app can guess short names.
public struct GateAccountKey: Sendable {
  /// How many bytes a key has.
  public static var byteCount: Int { CoreWire.gateKey }
  /// How many bytes of UTF-8 a name may have.
  public static var nameByteCountMax: Int { CoreWire.accountMax }

  /// The key's number, 1 to 255: it stands in each compact token that names an account.
  public let number: UInt8
  let core: CoreSharedSecret

  /// Takes a key's bytes over.
  ///
  /// - Parameters:
  ///   - bytes: 32 random bytes.
  ///   - number: 1 to 255.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``,
  ///   ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ bytes: consuming SecretBytes, number: UInt8) throws(ProofError) {
    try bytes.checkCount(Self.byteCount, of: "account key")
    guard number > 0 else {
      throw .outOfRange(field: "number of an account key", value: "0", allowed: "1 to 255")
    }
    self.number = number
    core = CoreSharedSecret(bytes)
  }

  /// The digest under which the gate knows a user account.
  ///
  /// - Parameter name: The account's name, 1 to 128 bytes of UTF-8.
  /// - Returns: The digest.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public func digest(of name: String) throws(ProofError) -> Digest {
    var name = name
    let count = name.utf8.count
    guard (1...Self.nameByteCountMax).contains(count) else {
      throw .wrongLength(of: "account name", expected: 1...Self.nameByteCountMax, actual: count)
    }
    return CoreGate.account(&name, under: core)
  }

  /// Lends the key's bytes, for as long as the closure runs: the service tells them to apps and gates.
  package func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try core.bytes.withBytes(body)
  }
}

extension GateAccountKey: CustomStringConvertible, CustomReflectable {
  /// The key's number; never the key.
  public var description: String { "GateAccountKey(number \(number))" }

  /// Shows the key's number.
  public var customMirror: Mirror { Mirror(self, children: ["number": number]) }
}
