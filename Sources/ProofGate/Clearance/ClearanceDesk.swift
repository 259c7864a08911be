// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofJOSE
public import ProofModel

/// Makes and checks the clearances of a gate.
///
/// One object serves all threads; nodes of one gate share its own secrets and the replay store. Checking stores
/// nothing. A route whose clearances count once calls ``spend(_:from:)``.
public final class ClearanceDesk: Sendable {
  /// The longest life of a clearance, in seconds.
  public static let lifeMax: UInt32 = 3600

  /// The settings of a desk.
  public struct Settings: Sendable {
    /// Where the time comes from.
    public var clock = UnixClock.system
    /// Seconds by which clocks of the nodes may differ.
    public var skew: UInt32 = 30
    /// The life of a clearance in seconds.
    public var life: UInt32 = 900

    /// The settings without changes.
    public init() {}
  }

  /// The life of a clearance in seconds.
  public var life: UInt32 { min(settings.life, Self.lifeMax) }

  private let keys: GateKeySet
  private let replay: any ReplayStore
  private let settings: Settings
  private let clock: GateClock
  private let earlier: GateStart
  private let start = RandomSource.bytes(4)

  /// Makes a desk.
  ///
  /// - Parameters:
  ///   - own: The gate's own keys.
  ///   - replay: Remembers clearances that were spent; the nodes of one gate share it.
  ///   - settings: Clock, skew and life.
  /// - Throws: ``/ProofBackend/ReplayStoreFailure``.
  public convenience init(
    _ own: GateOwnKeys, replay: any ReplayStore, settings: Settings = Settings()
  ) throws(ReplayStoreFailure) {
    try self.init(own[.clearance], replay: replay, settings: settings)
  }

  init(
    _ keys: GateKeySet, replay: any ReplayStore, settings: Settings
  ) throws(ReplayStoreFailure) {
    self.keys = keys
    self.replay = replay
    self.settings = settings
    let memory = try replay.begin(at: settings.clock.now)
    clock = GateClock(settings.clock, from: memory.highest)
    earlier = GateStart(
      memory, window: Self.lifeMax + settings.skew, isOfOneProcess: replay.isOfOneProcess)
  }

  // MARK: Making

  /// Makes the clearance for a challenge that was just answered.
  ///
  /// - Parameters:
  ///   - challenge: The challenge, as ``ChallengeDesk/judge(_:to:for:)`` returned it.
  ///   - subject: The request that it was set for.
  ///   - held: A clearance of the same holder that was checked; what it says stays.
  /// - Returns: The clearance. A client without a handle gets a new session, or keeps that of `held`.
  public func clearance(
    for challenge: GateChallenge, _ subject: ChallengeSubject, after held: Clearance? = nil
  ) -> Clearance {
    let holder: Clearance.Holder =
      switch (subject.client, held?.holder) {
      case (.app(let handle), _): .app(handle)
      case (.address, .session(let name)): .session(name)
      case (.address, _): .session(RandomSource.bytes(16))
      }
    // A clearance of another holder says nothing of this one.
    let held = held?.holder == holder ? held : nil
    var levels = (work: held?.workLevel ?? 0, memory: held?.memoryWorkLevel ?? 0)
    if challenge.kind == .work { levels.work = max(levels.work, challenge.level) }
    if challenge.kind == .memoryWork { levels.memory = max(levels.memory, challenge.level) }
    let solved = ChallengeKinds(challenge.kind).union(held?.solved ?? [])
    var expiry = UInt32(clamping: (clock.now + min(settings.life, Self.lifeMax)).seconds)
    // Kinds that are kept end when they would have ended: a cheap answer must not prolong a dear one.
    if let held,
      !held.solved.isSubset(of: ChallengeKinds(challenge.kind)) || held.workLevel > challenge.level
        || held.memoryWorkLevel > challenge.level
    {
      expiry = min(expiry, UInt32(clamping: held.expiry.seconds))
    }
    var bytes = [
      ClearanceWire.head, 0, solved.rawValue,
      levels.work | levels.memory << ClearanceWire.workLevelBits,
    ]
    bytes += Self.flags(holder) + expiry.littleEndianBytes + start + RandomSource.bytes(4)
    bytes += ClearanceWire.host(subject.place.authority) + Self.name(of: holder)
    return tagged(bytes, subject.client)
  }

  private func tagged(_ bytes: [UInt8], _ client: ChallengeClient) -> Clearance {
    var bytes = bytes
    bytes[ClearanceWire.keyAt] = keys.active.number
    bytes += keys.active.tag(Clearance.label, bytes + Self.bound(to: client))
    guard let made = Clearance(bytes) else { preconditionFailure("The desk wrote the fields.") }
    return made
  }

  // MARK: Checking

  /// Checks a clearance. Stores nothing.
  ///
  /// - Parameters:
  ///   - field: The clearance as the request carries it.
  ///   - host: The authority of the route.
  ///   - proven: The handle of a valid proof of this request; nil without one.
  ///   - address: The client's address.
  /// - Returns: The clearance.
  /// - Throws: ``ClearanceRefusal``.
  public func check(
    _ field: ClearanceField, for host: String, proven: GateHandle?, from address: String
  ) throws(ClearanceRefusal) -> Clearance {
    guard field.text.utf8.count == Clearance.characterCount,
      let bytes = Base64.decode(field.text, .url)
    else { throw .text }
    guard bytes[0] == ClearanceWire.head else { throw .kind }
    guard let key = keys.key(bytes[ClearanceWire.keyAt]) else { throw .key }
    let body = Array(bytes[..<ClearanceWire.tagAt])
    // The flag is under the tag, so a client that changes it makes another tag due.
    let isApp = bytes[ClearanceWire.flagsAt] & ClearanceWire.appFlag != 0
    let bound = isApp ? [] : Self.bound(to: .address(address))
    guard key.isTag(bytes[ClearanceWire.tagAt...], of: body + bound, Clearance.label) else {
      throw .tag
    }
    guard let clearance = Clearance(bytes) else { throw .reserved }
    let now = clock.now
    guard clearance.expiry >= now else { throw .expired }
    guard clearance.expiry <= now + (Self.lifeMax + settings.skew) else {
      throw .ahead
    }
    guard
      ClearanceWire.host(host).elementsEqual(bytes[ClearanceWire.hostAt..<ClearanceWire.holderAt])
    else { throw .host }
    if case .app(let handle) = clearance.holder {
      guard field.place == .header else { throw .place }
      guard proven == handle else { throw .handle }
    }
    return clearance
  }

  // MARK: Spending

  /// Spends a clearance, and makes the one that takes its place: the same kinds, levels, holder and end, and the next
  /// serial. Each clearance is spent once, at all nodes.
  ///
  /// - Parameters:
  ///   - clearance: A clearance that was checked for this request.
  ///   - client: The client that it was checked for.
  /// - Returns: The next clearance.
  /// - Throws: ``ClearanceRefusal/spent``, ``ClearanceRefusal/earlier``, ``ClearanceRefusal/store(_:)``.
  public func spend(
    _ clearance: Clearance, from client: ChallengeClient
  ) throws(ClearanceRefusal) -> Clearance {
    guard
      clearance.start.elementsEqual(start) || !earlier.mayHaveCounted(clearance.expiry)
    else { throw .earlier }
    let isNew: Bool
    do throws(ReplayStoreFailure) {
      isNew = try replay.insert(
        clearance.replayKey, until: clearance.expiry + settings.skew, at: clock.now)
    } catch {
      throw .store(error)
    }
    guard isNew else { throw .spent }
    var bytes = Array(clearance.bytes[..<ClearanceWire.tagAt])
    let serial = (clearance.serial &+ 1).littleEndianBytes
    bytes.replaceSubrange(ClearanceWire.serialAt..<ClearanceWire.hostAt, with: serial)
    return tagged(bytes, client)
  }

  private static func flags(_ holder: Clearance.Holder) -> [UInt8] {
    if case .app = holder { [ClearanceWire.appFlag, 0] } else { [0, 0] }
  }

  private static func name(of holder: Clearance.Holder) -> [UInt8] {
    switch holder {
    case .app(let handle): handle.bytes
    case .session(let name): name
    }
  }

  /// The bytes under the tag that a clearance does not carry: a session's address prefix.
  private static func bound(to client: ChallengeClient) -> [UInt8] {
    if case .address = client { client.bytes } else { [] }
  }
}
