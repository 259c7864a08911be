// SPDX-License-Identifier: Apache-2.0

/// The identity and secret key of one piece of hardware: enough to open the messages addressed to
/// it.
public struct HardwareKeys: Sendable {
  /// The most issuers one piece of hardware trusts.
  public static var issuerCountMax: Int { CoreWire.issuersMax }

  let core: CoreHardware

  /// The hardware's mode. It refuses tokens that were made in the other mode.
  public let mode: Mode
  /// The public side, for the backend.
  public let identity: HardwareIdentity

  /// Checks and takes the factory's data for one piece of hardware.
  ///
  /// - Parameters:
  ///   - id: The hardware's name.
  ///   - secretKey: 32 random bytes; not all zeros.
  ///   - mode: The hardware's mode. It refuses tokens that were made in the other mode.
  ///   - issuers: One to four backends whose signatures count.
  ///   - allowsLiteralTokens: Whether tokens in ``TokenForm/literal`` are accepted.
  ///   - challengeSeconds: A challenge's lifetime, if the hardware has a clock; nil for no limit.
  ///   - factory: The factory secret of this hardware, which then opens no token that was sealed
  ///     without it; nil for none.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, ``ProofError/allZeros(of:)``,
  ///   ``ProofError/outOfRange(field:value:allowed:)``, ``ProofError/notForThisHardware(_:)`` if
  ///   the factory secret is of other hardware.
  public init(
    id: HardwareID, secretKey: borrowing SecretBytes, mode: Mode, issuers: [IssuerPublicKey],
    allowsLiteralTokens: Bool = false, challengeSeconds: UInt16? = nil,
    factory: FactorySecret? = nil
  ) throws(ProofError) {
    guard (1...Self.issuerCountMax).contains(issuers.count) else {
      throw .outOfRange(
        field: "number of issuers", value: "\(issuers.count)",
        allowed: "1 to \(Self.issuerCountMax)")
    }
    guard challengeSeconds != 0 else {
      throw .outOfRange(
        field: "life of a challenge", value: "0 seconds", allowed: "1 to 65535, or nil")
    }
    guard factory == nil || factory?.hardware == id else {
      throw .notForThisHardware("factory secret")
    }
    let core = try CoreHardware(
      id: id, secretKey: secretKey, mode: mode, issuers: issuers,
      allowsLiteralTokens: allowsLiteralTokens, challengeSeconds: challengeSeconds ?? 0,
      factory: factory?.core)
    identity = HardwareIdentity(id: id, publicKey: core.publicKey)
    self.core = core
    self.mode = mode
  }

  /// Refuses a token for other hardware cheaply, before any public-key work. A token that passes
  /// may still not open.
  ///
  /// - Parameter token: The token that an app delivered.
  /// - Throws: ``ProofError/notForThisHardware(_:)``.
  public func checkAddressee(of token: MeasurementToken) throws(ProofError) {
    try CoreToken.checkHead(token.bytes, by: core)
  }

  /// Refuses an order for other hardware cheaply, before its signature is checked.
  ///
  /// - Parameter order: The order that an app delivered.
  /// - Throws: ``ProofError/notForThisHardware(_:)``.
  public func checkAddressee(of order: SignedOrder) throws(ProofError) {
    try CoreOrder.checkHead(order.bytes, by: core)
  }

  /// Opens a token. The hardware's id, its secret key and the issuers' keys decide whether it
  /// opens.
  ///
  /// - Parameter token: The token that an app delivered.
  /// - Returns: The backend's grant.
  /// - Throws: ``ProofError/notForThisHardware(_:)``, ``ProofError/notSigned(_:)``,
  ///   ``ProofError/wrongMode(_:)``, ``ProofError/malformed(_:byteCount:)``.
  public func open(_ token: MeasurementToken) throws(ProofError) -> MeasurementGrant {
    try CoreToken.open(token.bytes, by: core)
  }

  /// Opens an order.
  ///
  /// - Parameter order: The order that an app delivered.
  /// - Returns: The backend's order.
  /// - Throws: ``ProofError/notForThisHardware(_:)``, ``ProofError/notSigned(_:)``,
  ///   ``ProofError/malformed(_:byteCount:)``.
  public func open(_ order: SignedOrder) throws(ProofError) -> Order {
    try CoreOrder.open(order.bytes, by: core)
  }
}

extension HardwareKeys: CustomStringConvertible, CustomReflectable {
  /// The hardware's public name. It never contains the key.
  public var description: String { "HardwareKeys(\(identity.id), \(mode))" }

  /// Shows the public side.
  public var customMirror: Mirror { Mirror(self, children: ["identity": identity]) }
}
