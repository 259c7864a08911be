// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// The rights that a measurement token grants.
public struct GrantPermissions: Sendable, Hashable {
  /// Classes of commands that an integrity match permits; at least one.
  public var integrityClasses: CommandClasses
  /// Classes that a device match permits, among the above.
  public var deviceClasses: CommandClasses
  /// The number of integrity failures that are allowed; at least one.
  public var attempts: UInt16
  /// The number of accepted commands that are allowed.
  public var uses: Uses
  /// The token's lifetime, in seconds; nil if it does not end.
  public var lifetime: UInt64?

  /// The policy of a ratchet, which tells of copies of the app; nil for none. The hardware's features
  /// must name ratchets.
  public var ratchet: RatchetPolicy?
  /// Whether the hardware takes sealed commands only from this app. The hardware's features must
  /// name sealed commands.
  public var demandsSealing: Bool
  /// Whether a sealed command of this app may open a channel. The hardware's features must name
  /// channels.
  public var permitsChannel: Bool
  /// Classes that the app may lend to other apps of the same hardware, without a network, among the
  /// integrity classes. The hardware's features must name grants.
  public var delegableClasses: CommandClasses

  /// The longest life of an upcoming token, in seconds: 90 days. A withdrawn build's token ends by
  /// itself.
  public static var upcomingLifetime: UInt64 { 90 * 86_400 }

  func lifetime(of app: MeasuredApp) -> UInt64? {
    guard app.isUpcoming else { return lifetime }
    return min(lifetime ?? .max, Self.upcomingLifetime)
  }

  /// Describes rights.
  public init(
    _ integrityClasses: CommandClasses, deviceClasses: CommandClasses = [], attempts: UInt16 = 5,
    uses: Uses = .unlimited, lifetime: UInt64? = 30 * 86_400, ratchet: RatchetPolicy? = nil,
    demandsSealing: Bool = false, permitsChannel: Bool = false,
    delegableClasses: CommandClasses = []
  ) {
    self.integrityClasses = integrityClasses
    self.deviceClasses = deviceClasses
    self.attempts = attempts
    self.uses = uses
    self.lifetime = lifetime
    self.ratchet = ratchet
    self.demandsSealing = demandsSealing
    self.permitsChannel = permitsChannel
    self.delegableClasses = delegableClasses
  }

  /// Whether a token of version one cannot say this.
  var needVersionTwo: Bool {
    ratchet != nil || demandsSealing || permitsChannel || !delegableClasses.isEmpty
  }

  /// Checks that hardware can do what these rights ask of it.
  func check(for hardware: RegisteredHardware) throws(BackendError) {
    let features = hardware.features
    if let ratchet, !features.contains(.ratchet) {
      throw Self.unnamed("ratchet", "\(ratchet)", "ratchets")
    }
    if demandsSealing, !features.contains(.sealedCommands) {
      throw Self.unnamed("sealed commands only", "yes", "sealed commands")
    }
    if permitsChannel, !features.contains(.channels) {
      throw Self.unnamed("channel", "yes", "channels")
    }
    try checkDelegation(for: features)
  }

  /// As the features must name them.
  private func checkDelegation(for features: HardwareFeatures) throws(BackendError) {
    guard delegableClasses.isEmpty || features.contains(.grants) else {
      throw Self.unnamed(
        "set of classes to delegate", "0x" + String(delegableClasses.rawValue, radix: 16), "grants")
    }
  }

  private static func unnamed(_ field: String, _ value: String, _ feature: String) -> BackendError {
    .refused(
      .outOfRange(
        field: field, value: value,
        allowed: "none for this hardware: its registered features do not name \(feature)"))
  }
}

/// Makes a measurement token for one piece of hardware from the service's statement about an app.
/// The token is signed by this backend and sealed to the hardware.
public struct MeasurementTokenIssuer: Sendable {
  private let key: IssuerKey
  private let registry: any HardwareRegistry
  private let ledger: any IssueLedger
  private let clock: UnixClock
  private let clockStep: UInt64?

  /// The most seconds by which the clock may be beyond the ledger's latest record: 90 days. It is
  /// less than hardware accepts (``/ProofModel/Order/epochStep``).
  public static var defaultClockStep: UInt64 { 90 * 86_400 }

  /// Makes an issuer.
  ///
  /// - Parameters:
  ///   - key: The backend's signing key.
  ///   - registry: Looks up the hardware.
  ///   - ledger: Stores the issued generations.
  ///   - clock: Gives the time.
  ///   - clockStep: The most seconds by which the clock may be beyond the ledger's latest record;
  ///     nil for any number. A signed time cannot be taken back.
  public init(
    _ key: IssuerKey, for registry: any HardwareRegistry, ledger: any IssueLedger,
    clock: UnixClock = .system, clockStep: UInt64? = Self.defaultClockStep
  ) {
    self.key = key
    self.registry = registry
    self.ledger = ledger
    self.clock = clock
    self.clockStep = clockStep
  }

  /// The key under which hardware checks this issuer's signatures.
  public var publicKey: IssuerPublicKey { key.publicKey }

  /// Issues a token.
  ///
  /// - Parameters:
  ///   - app: The service's statement about the app.
  ///   - id: The hardware that the token is for.
  ///   - permissions: The rights that the token grants.
  ///   - form: ``/ProofModel/TokenForm/literal`` puts the app's own keys and measurements into the
  ///     token; the hardware's registration must allow it by name.
  /// - Returns: The token: of version two if the hardware's features name it, and sealed with the
  ///   factory secret if they name that. By then the ledger has stored the generation that makes
  ///   older tokens void.
  /// - Throws: ``BackendError``.
  public func issue(
    to app: MeasuredApp, for id: HardwareID, _ permissions: GrantPermissions,
    form: TokenForm = .diversified
  ) throws(BackendError) -> MeasurementToken {
    let hardware = try registry.usable(id)
    guard hardware.mode == app.mode else {
      throw .otherMode(app: app.mode, hardware: hardware.mode)
    }
    guard !app.isUpcoming || hardware.takesUpcoming && form == .diversified else {
      throw .upcomingRefused(id)
    }
    let factory = try factorySecret(of: hardware)
    guard form == .diversified || (hardware.allowsLiteral && factory == nil) else {
      throw .literalRefused(id)
    }
    try permissions.check(for: hardware)
    let isTwo =
      permissions.needVersionTwo || factory != nil || hardware.features.contains(.tokenVersionTwo)
    let now = try checkedNow()
    let token = try proven { () throws(ProofError) in
      let grant = try MeasurementGrant(
        for: id, instance: app.instance, mode: app.mode,
        integrityClasses: permissions.integrityClasses, deviceClasses: permissions.deviceClasses,
        attempts: permissions.attempts, uses: permissions.uses, generation: app.generation,
        issued: now,
        notAfter: permissions.lifetime(of: app).map { now + $0 },
        secrets: app.secrets(for: id, form: form), version: isTwo ? .two : .one, base: app.base,
        isUpcoming: app.isUpcoming, ratchet: permissions.ratchet,
        demandsSealing: permissions.demandsSealing, permitsChannel: permissions.permitsChannel,
        delegableClasses: permissions.delegableClasses)
      return try grant.sealed(to: hardware.identity, with: factory, signedBy: key)
    }
    // Note it once the token is sure to exist, and before it is handed out.
    try ledger.noteIssue(
      of: app.generation, base: app.base, to: IssuePair(app.instance, at: id),
      by: factory == nil ? .one : .two, at: now)
    return token
  }

  /// Issues the tokens of all pairs of one fetch: the present one, and those of measurements to come.
  ///
  /// Hardware that does not know upcoming tokens gets the present one alone.
  ///
  /// - Parameters:
  ///   - app: The service's statement about the app as it is.
  ///   - upcoming: Its statements about measurements to come, of the same fetch.
  ///   - id: The hardware that the tokens are for.
  ///   - permissions: The rights that each token grants. Generations share attempts and uses.
  /// - Returns: The present token, then one for each upcoming statement; nil where the hardware takes
  ///   none.
  /// - Throws: ``BackendError``; ``BackendError/otherFetch(_:)`` if a statement is of another fetch.
  public func issue(
    to app: MeasuredApp, upcoming: [MeasuredApp], for id: HardwareID,
    _ permissions: GrantPermissions
  ) throws(BackendError) -> (present: MeasurementToken, upcoming: [MeasurementToken?]) {
    for other in upcoming {
      guard !app.isUpcoming, other.isUpcoming, other.instance == app.instance,
        other.mode == app.mode, other.base == app.generation
      else { throw .otherFetch(app.instance) }
    }
    let present = try issue(to: app, for: id, permissions)
    guard try registry.usable(id).takesUpcoming else {
      return (present, upcoming.map { _ in nil })
    }
    var tokens: [MeasurementToken?] = []
    for app in upcoming { tokens.append(try issue(to: app, for: id, permissions)) }
    return (present, tokens)
  }

  /// The factory secret of hardware that has one. Downgrade: a missing secret is an error, because a
  /// token without it would show its secrets to an attacker who breaks X25519.
  private func factorySecret(
    of hardware: RegisteredHardware
  ) throws(BackendError) -> FactorySecret? {
    guard hardware.features.contains(.factorySecret) else { return nil }
    guard let secret = try registry.factorySecret(of: hardware) else {
      throw .factorySecretMissing(hardware.identity.id)
    }
    return secret
  }

  /// Orders that the hardware's time is at least now, which also ends tokens that have expired.
  ///
  /// - Parameter id: The hardware.
  /// - Returns: The signed order, for apps to deliver.
  /// - Throws: ``BackendError/unknownHardware(_:)``, ``BackendError/clockAhead(of:by:)``.
  public func orderEpoch(for id: HardwareID) throws(BackendError) -> SignedOrder {
    _ = try known(id)
    return try sign(.epoch(id))
  }

  /// Orders that move the hardware's time up to now after a long time without power, when one order
  /// cannot move it far enough.
  ///
  /// - Parameters:
  ///   - id: The hardware.
  ///   - epoch: The hardware's own time, as its status tells it.
  /// - Returns: The signed orders, for an app to deliver in this order; at most 256.
  /// - Throws: ``BackendError/unknownHardware(_:)``, ``BackendError/clockAhead(of:by:)``.
  public func orderEpochs(
    for id: HardwareID, from epoch: UnixTime
  ) throws(BackendError) -> [SignedOrder] {
    _ = try known(id)
    let now = try checkedNow()
    var orders: [SignedOrder] = []
    var time = epoch
    while time < now, orders.count < 256 {
      time = now - time > Order.epochStep ? time + Order.epochStep : now
      orders.append(try sign(.epoch(id), at: time))
    }
    return orders
  }

  /// Orders that an app's tokens are revoked. The issuer then issues none of these generations any
  /// more.
  ///
  /// - Parameters:
  ///   - instance: The app's installation.
  ///   - generation: The last generation that is revoked; nil for all, for good.
  ///   - id: The hardware.
  /// - Returns: The signed order, for apps to deliver.
  /// - Throws: ``BackendError``.
  public func orderRevocation(
    of instance: InstanceID, through generation: UInt32? = nil, at id: HardwareID
  ) throws(BackendError) -> SignedOrder {
    _ = try known(id)
    let time = try checkedNow()
    let order = try sign(.revoke(instance, through: generation, id), at: time)
    try ledger.noteRevocation(
      through: generation ?? .max, of: IssuePair(instance, at: id), at: time)
    return order
  }

  /// Orders that tokens issued before now are void, and frees their slots.
  ///
  /// - Parameter id: The hardware.
  /// - Returns: The signed order, for apps to deliver.
  /// - Throws: ``BackendError``.
  public func orderFloor(for id: HardwareID) throws(BackendError) -> SignedOrder {
    _ = try known(id)
    return try sign(.floor(id))
  }

  private var now: UnixTime { UnixTime(seconds: max(0, clock.now.seconds)) }

  /// Looks up hardware, revoked hardware too: it still takes orders.
  private func known(_ id: HardwareID) throws(BackendError) -> RegisteredHardware {
    guard let hardware = try registry.hardware(id) else { throw .unknownHardware(id) }
    return hardware
  }

  /// The time now, checked against the ledger's latest record.
  private func checkedNow() throws(BackendError) -> UnixTime {
    let now = now
    guard let clockStep, let latest = try ledger.latestTime(),
      now - latest > clockStep
    else { return now }
    throw .clockAhead(of: latest, by: now - latest)
  }

  private func sign(_ action: Order.Action) throws(BackendError) -> SignedOrder {
    try sign(action, at: checkedNow())
  }

  private func sign(_ action: Order.Action, at time: UnixTime) throws(BackendError) -> SignedOrder {
    try proven { () throws(ProofError) in try Order(action, issued: time).signed(by: key) }
  }

  private func proven<Value>(
    _ body: () throws(ProofError) -> Value
  ) throws(BackendError) -> Value {
    do throws(ProofError) { return try body() } catch { throw .refused(error) }
  }
}

extension RegisteredHardware {
  /// Whether the hardware takes tokens for a measurement to come.
  fileprivate var takesUpcoming: Bool { features.contains([.tokenVersionTwo, .upcoming]) }
}
