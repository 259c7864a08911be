// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofJOSE
internal import ProofModel

/// Sets the challenges of a gate, and judges the answers.
///
/// One object serves all threads. Nodes of one gate share its own secrets and the replay store. A challenge costs the
/// gate nothing until it is answered. Each answer, right or wrong, uses its challenge up.
public final class ChallengeDesk: Sendable {
  /// The longest life of a challenge, in seconds.
  public static let lifeMax: UInt32 = 3600

  /// The settings of a desk.
  public struct Settings: Sendable {
    /// Where the time comes from.
    public var clock = UnixClock.system
    /// Seconds by which clocks of the nodes may differ.
    public var skew: UInt32 = 30

    /// The settings without changes.
    public init() {}
  }

  private let keys: GateKeySet
  private let gate: GateID
  private let replay: any ReplayStore
  private let settings: Settings
  private let clock: GateClock
  private let earlier: GateStart
  private let start = RandomSource.bytes(GateChallenge.startByteCount)
  private let spent = SpentMarks()

  /// Makes a desk.
  ///
  /// - Parameters:
  ///   - own: The gate's own keys.
  ///   - replay: Remembers challenges that were answered; the nodes of one gate share it.
  ///   - settings: Clock and skew.
  /// - Throws: ``/ProofBackend/ReplayStoreFailure``.
  public convenience init(
    _ own: GateOwnKeys, replay: any ReplayStore, settings: Settings = Settings()
  ) throws(ReplayStoreFailure) {
    try self.init(own[.challenge], own.gate, replay: replay, settings: settings)
  }

  init(
    _ keys: GateKeySet, _ gate: GateID, replay: any ReplayStore, settings: Settings
  ) throws(ReplayStoreFailure) {
    self.keys = keys
    self.gate = gate
    self.replay = replay
    self.settings = settings
    let memory = try replay.begin(at: settings.clock.now)
    clock = GateClock(settings.clock, from: memory.highest)
    earlier = GateStart(
      memory, window: Self.lifeMax + settings.skew, isOfOneProcess: replay.isOfOneProcess)
  }

  // MARK: Setting

  /// Sets a challenge.
  ///
  /// - Parameters:
  ///   - kind: The way in which it is to be answered.
  ///   - level: How hard it is, within the kind's levels.
  ///   - route: The number of the route that asks for it.
  ///   - subject: The request that it is for.
  ///   - life: How many seconds an answer counts; nil for the kind's own.
  /// - Returns: The challenge.
  public func set(
    _ kind: ChallengeKind, level: UInt8 = 0, route: UInt32 = 0, for subject: ChallengeSubject,
    life: UInt32? = nil
  ) -> GateChallenge {
    let level = min(max(level, kind.levels.lowerBound), kind.levels.upperBound)
    let life = min(life ?? kind.life, Self.lifeMax)
    let expiry = UInt32(clamping: (clock.now + life).seconds)
    let key = keys.active
    var bytes = [ChallengeWire.version << 4 | kind.rawValue, key.number, level, 0]
    bytes += expiry.littleEndianBytes + route.littleEndianBytes
    bytes +=
      start + RandomSource.bytes(ChallengeWire.bindingAt - ChallengeWire.nonceAt - start.count)
    bytes += key.tag(GateChallenge.bindingLabel, subject.bytes)
    bytes += key.tag(GateChallenge.label, bytes)
    return GateChallenge(kind, bytes)
  }

  // MARK: Judging

  /// Reads a challenge that this gate set. The challenge is not used up.
  ///
  /// - Parameters:
  ///   - text: The id that a client sent.
  ///   - subject: The request as the gate sees it.
  /// - Returns: The challenge.
  /// - Throws: ``ChallengeRefusal``.
  public func read(
    _ text: String, for subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> GateChallenge {
    let (challenge, key) = try parsed(text)
    let now = clock.now
    guard challenge.expiry >= now else { throw .expired }
    // A clock that was set back, and a process that began after it, must not bring an answered challenge back.
    guard challenge.expiry <= now + (Self.lifeMax + settings.skew) else {
      throw .ahead
    }
    guard
      challenge.start.elementsEqual(start) || !earlier.mayHaveCounted(challenge.expiry)
    else { throw .earlier }
    let binding = challenge.bytes[ChallengeWire.bindingAt..<ChallengeWire.tagAt]
    guard key.isTag(binding, of: subject.bytes, GateChallenge.bindingLabel) else { throw .subject }
    return challenge
  }

  /// Judges an answer, and uses its challenge up.
  ///
  /// Only a client that the challenge was set for can use it up. The answer of a person is used up before it is judged,
  /// at all nodes; for the other kinds a right answer is, and a wrong one at this node.
  ///
  /// - Parameters:
  ///   - answer: The answer.
  ///   - text: The challenge's id.
  ///   - subject: The request as the gate sees it.
  /// - Returns: The challenge, which was answered rightly and for the first time.
  /// - Throws: ``ChallengeRefusal``.
  public func judge(
    _ answer: ChallengeAnswer, to text: String, for subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> GateChallenge {
    let challenge = try read(text, for: subject)
    let key = challenge.replayKey
    guard !spent.contains(key) else { throw .spent }
    guard challenge.kind == answer.kind else {
      try useUp(challenge, key, isRight: false)
      throw .otherAnswer
    }
    if challenge.kind == .person { try useUp(challenge, key, isRight: true) }
    guard answer.isRight(for: challenge, at: gate, subject) else {
      if challenge.kind != .person { try useUp(challenge, key, isRight: false) }
      throw .wrong
    }
    if challenge.kind != .person { try useUp(challenge, key, isRight: true) }
    return challenge
  }

  private func useUp(
    _ challenge: GateChallenge, _ key: ReplayKey, isRight: Bool
  ) throws(ChallengeRefusal) {
    // A wrong answer by a client that has shown nothing must not cost the store an entry.
    guard isRight || challenge.kind == .person else { return spent.insert(key) }
    let isNew: Bool
    do throws(ReplayStoreFailure) {
      isNew = try replay.insert(
        key, until: challenge.expiry + settings.skew, at: clock.now)
    } catch {
      throw .store(error)
    }
    guard isNew else { throw .spent }
  }

  private func parsed(
    _ text: String
  ) throws(ChallengeRefusal) -> (challenge: GateChallenge, key: GateKey) {
    guard text.utf8.count == GateChallenge.characterCount, let bytes = Base64.decode(text, .url)
    else {
      throw .text
    }
    guard bytes[0] >> 4 == ChallengeWire.version else { throw .version }
    guard let kind = ChallengeKind(rawValue: bytes[0] & 15) else { throw .kind }
    guard let key = keys.key(bytes[ChallengeWire.keyAt]) else { throw .key }
    let body = Array(bytes[..<ChallengeWire.tagAt])
    guard key.isTag(bytes[ChallengeWire.tagAt...], of: body, GateChallenge.label) else {
      throw .tag
    }
    return (GateChallenge(kind, bytes), key)
  }
}
