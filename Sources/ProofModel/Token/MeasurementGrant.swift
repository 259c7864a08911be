// SPDX-License-Identifier: Apache-2.0

/// The number of commands that a token permits.
public enum Uses: Sendable, Hashable {
  /// A limited number, 1 to 2^32 - 2.
  case limited(UInt32)
  /// Any number.
  case unlimited
}

/// The version of a measurement token.
public enum TokenVersion: UInt8, Sendable, Hashable {
  /// For any hardware, sealed by X25519 alone.
  case one = 1
  /// For hardware whose capabilities name it. Hardware with a factory secret takes no other.
  case two = 2
}

/// The content of a measurement token: the rights of one app instance at one piece of hardware, and
/// the secrets to check its proofs with. Secret.
///
/// The backend makes one and seals it as a token; the hardware opens the token and gets it back.
/// The initialiser checks every field.
public struct MeasurementGrant: Sendable {
  /// The hardware that may open it.
  public let hardware: HardwareID
  /// The app instance it is about.
  public let instance: InstanceID
  /// Production or development.
  public let mode: Mode
  /// Classes of commands that an integrity match permits; at least one.
  public let integrityClasses: CommandClasses
  /// Those that a device match permits, among the above; may be none.
  public let deviceClasses: CommandClasses
  /// Those that the owner of the token may lend, among the integrity classes; may be none.
  public let delegableClasses: CommandClasses
  /// The number of integrity failures that are allowed; at least one.
  public let attempts: UInt16
  /// The number of accepted commands that are allowed.
  public let uses: Uses
  /// The configuration's generation.
  public let generation: UInt32
  /// The time when it was issued.
  public let issued: UnixTime
  /// The last second in which it counts; nil for no end.
  public let notAfter: UnixTime?
  /// The secrets that app and hardware share.
  public let secrets: HardwareSecrets
  /// The version of the token.
  public let version: TokenVersion
  /// The policy of the slot's ratchet; nil for a slot without one.
  public let ratchet: RatchetPolicy?
  /// Whether the slot takes sealed commands only.
  public let demandsSealing: Bool
  /// Whether a sealed command may open a channel: further commands are then judged without proofs of
  /// their own, for 30 seconds at most.
  public let permitsChannel: Bool
  /// The generation of the present pair in the same fetch, at most ``generation``. Tokens of version
  /// one do not carry it.
  public let base: UInt32
  /// Whether the token is for a measurement to come. Hardware that holds a token of the same
  /// instance replaces it when this generation first proves itself.
  public let isUpcoming: Bool
  /// The backend that signed it; nil until it was opened from a token.
  public let issuer: IssuerID?

  /// Checks and takes the content of a token.
  ///
  /// - Parameters:
  ///   - hardware: The hardware that may open it.
  ///   - instance: The app instance it is about.
  ///   - mode: The mode of the key that made the secrets.
  ///   - integrityClasses: At least one.
  ///   - deviceClasses: None, or some of the above.
  ///   - attempts: At least one.
  ///   - uses: At least one.
  ///   - generation: The configuration's generation, 1 to 2^32 - 2.
  ///   - issued: The time of issue, after 1970 began; a fraction of a second is not written.
  ///   - notAfter: The last second, not before `issued`; nil for no end.
  ///   - secrets: The secrets made for this hardware.
  ///   - version: The version of the token; two only for hardware that knows it.
  ///   - base: The generation of the present pair in the same fetch; nil for `generation`.
  ///   - isUpcoming: Whether the token is for a measurement to come; only with version two, and for
  ///     hardware whose features name it.
  ///   - ratchet: The policy of the slot's ratchet, in version two; nil for a slot without one.
  ///   - demandsSealing: Whether the slot takes sealed commands only, in version two, on hardware
  ///     whose features name them.
  ///   - permitsChannel: Whether a sealed command may open a channel, in version two, on hardware
  ///     whose features name channels.
  ///   - delegableClasses: None, or some of the integrity classes, in version two.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``; ``ProofError/wrongMode(_:)`` if an
  ///   upcoming token has version one or literal secrets.
  public init(
    for hardware: HardwareID, instance: InstanceID, mode: Mode,
    integrityClasses: CommandClasses, deviceClasses: CommandClasses = [], attempts: UInt16,
    uses: Uses, generation: UInt32, issued: UnixTime, notAfter: UnixTime? = nil,
    secrets: HardwareSecrets, version: TokenVersion = .one, base: UInt32? = nil,
    isUpcoming: Bool = false, ratchet: RatchetPolicy? = nil, demandsSealing: Bool = false,
    permitsChannel: Bool = false, delegableClasses: CommandClasses = []
  ) throws(ProofError) {
    guard version == .two || delegableClasses.isEmpty else {
      throw .outOfRange(
        field: "set of classes to delegate",
        value: "0x" + String(delegableClasses.rawValue, radix: 16), allowed: "none in version one")
    }
    guard integrityClasses.isSuperset(of: delegableClasses) else {
      throw .outOfRange(
        field: "set of classes to delegate",
        value: "0x" + String(delegableClasses.rawValue, radix: 16),
        allowed: "a subset of 0x" + String(integrityClasses.rawValue, radix: 16))
    }
    guard !demandsSealing || version == .two else {
      throw .outOfRange(
        field: "demand for sealed commands", value: "yes", allowed: "no in version one")
    }
    guard !permitsChannel || version == .two else {
      throw .outOfRange(
        field: "permission of a channel", value: "yes", allowed: "no in version one")
    }
    guard ratchet == nil || version == .two else {
      throw .outOfRange(
        field: "ratchet", value: ratchet.map { "\($0)" } ?? "", allowed: "none in version one")
    }
    guard !integrityClasses.isEmpty else {
      throw .outOfRange(
        field: "set of classes for an integrity match", value: "empty", allowed: "one or more")
    }
    guard integrityClasses.isSuperset(of: deviceClasses) else {
      throw .outOfRange(
        field: "set of classes for a device match",
        value: "0x" + String(deviceClasses.rawValue, radix: 16),
        allowed: "a subset of 0x" + String(integrityClasses.rawValue, radix: 16))
    }
    guard attempts > 0 else {
      throw .outOfRange(field: "number of attempts", value: "0", allowed: "1 to 65535")
    }
    if case .limited(let count) = uses, count == 0 || count == .max {
      throw .outOfRange(
        field: "number of uses", value: "\(count)", allowed: "1 to 4294967294, or unlimited")
    }
    guard generation > 0, generation < .max else {
      throw .outOfRange(
        field: "generation", value: "\(generation)", allowed: "1 to 4294967294")
    }
    guard issued.seconds > 0 else {
      throw .outOfRange(field: "time of issue", value: "\(issued)", allowed: "Unix seconds from 1")
    }
    if let notAfter, notAfter < issued {
      throw .outOfRange(
        field: "end", value: "\(notAfter)", allowed: "Unix seconds from \(issued), the issue")
    }
    if let base, base == 0 || base > generation {
      throw .outOfRange(
        field: "base", value: "\(base)", allowed: "1 to \(generation), the generation")
    }
    guard !isUpcoming || version == .two && secrets.form == .diversified else {
      throw .wrongMode("upcoming measurement grant")
    }
    self.init(
      unchecked: hardware, instance: instance, mode: mode, integrityClasses: integrityClasses,
      deviceClasses: deviceClasses, delegableClasses: delegableClasses, attempts: attempts,
      uses: uses, generation: generation, issued: issued, notAfter: notAfter, secrets: secrets,
      version: version, base: base ?? generation, isUpcoming: isUpcoming, ratchet: ratchet,
      demandsSealing: demandsSealing, permitsChannel: permitsChannel, issuer: nil)
  }

  /// Takes fields that the core has checked.
  init(
    unchecked hardware: HardwareID, instance: InstanceID, mode: Mode,
    integrityClasses: CommandClasses, deviceClasses: CommandClasses,
    delegableClasses: CommandClasses, attempts: UInt16, uses: Uses, generation: UInt32,
    issued: UnixTime, notAfter: UnixTime?,
    secrets: HardwareSecrets, version: TokenVersion, base: UInt32, isUpcoming: Bool,
    ratchet: RatchetPolicy?, demandsSealing: Bool, permitsChannel: Bool, issuer: IssuerID?
  ) {
    self.hardware = hardware
    self.instance = instance
    self.mode = mode
    self.integrityClasses = integrityClasses
    self.deviceClasses = deviceClasses
    self.delegableClasses = delegableClasses
    self.attempts = attempts
    self.uses = uses
    self.generation = generation
    self.issued = issued
    self.notAfter = notAfter
    self.secrets = secrets
    self.version = version
    self.ratchet = ratchet
    self.demandsSealing = demandsSealing
    self.permitsChannel = permitsChannel
    self.base = base
    self.isUpcoming = isUpcoming
    self.issuer = issuer
  }

  /// Signs the grant, then seals it to the hardware, under a fresh ephemeral key.
  ///
  /// - Parameters:
  ///   - recipient: The hardware, whose id must be the grant's.
  ///   - factory: The hardware's factory secret, if it has one; nil for suite 1.
  ///   - issuer: The backend's signing key.
  /// - Returns: The token.
  /// - Throws: As ``sealed(to:with:signedBy:ephemeral:)``, save for the length.
  public func sealed(
    to recipient: HardwareIdentity, with factory: FactorySecret? = nil,
    signedBy issuer: IssuerKey
  ) throws(ProofError) -> MeasurementToken {
    guard recipient.id == hardware else { throw .notForThisHardware("measurement grant") }
    return try CoreToken.seal(self, to: recipient, with: factory, signedBy: issuer.core)
  }

  /// Signs the grant, then seals it to the hardware, under an ephemeral key of the caller's.
  ///
  /// - Parameters:
  ///   - recipient: The hardware, whose id must be the grant's.
  ///   - factory: The hardware's factory secret, if it has one; nil for suite 1.
  ///   - issuer: The backend's signing key.
  ///   - ephemeral: 32 fresh random bytes. They are consumed, because no two tokens may share them.
  /// - Returns: The token.
  /// - Throws: ``ProofError/notForThisHardware(_:)`` if the recipient or the factory secret is not
  ///   of the grant's hardware, ``ProofError/wrongMode(_:)`` if a factory secret meets version one
  ///   or the literal form, ``ProofError/unusablePublicKey(of:)``, ``ProofError/allZeros(of:)`` if a secret is all
  ///   zeros,
  ///   ``ProofError/wrongLength(of:expected:actual:)`` for `ephemeral`.
  public func sealed(
    to recipient: HardwareIdentity, with factory: FactorySecret? = nil,
    signedBy issuer: IssuerKey, ephemeral: consuming SecretBytes
  ) throws(ProofError) -> MeasurementToken {
    guard recipient.id == hardware else { throw .notForThisHardware("measurement grant") }
    return try CoreToken.seal(
      self, to: recipient, with: factory, signedBy: issuer.core, ephemeral: ephemeral)
  }
}

extension MeasurementGrant: CustomStringConvertible, CustomReflectable {
  /// The public part, without the secrets.
  public var description: String {
    "measurement grant: \(mode), hardware \(hardware), instance \(instance), "
      + "generation \(generation)"
  }

  /// Shows the public part.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
