public import ProofJOSE
public import ProofModel
import Synchronization

/// Judges event tokens of one audience: each binds a business event, an account and data to a measured app.
///
/// It holds the keys of its audience alone. From them it can compute neither those of another audience nor those of
/// requests; it could forge tokens for itself, so a token proves nothing to third parties.
public final class EventVerifier: Sendable {
  /// A redeemer's settings.
  public struct Settings: Sendable {
    /// Where the time comes from.
    public var clock = JOSEClock.system
    /// Seconds by which clocks of the redeemers may differ.
    public var skew: UInt32 = 30
    /// Seconds before and after a token's moment.
    public var window: UInt32 = CompactToken.window
    /// Whether a token without a beacon of the last 15 minutes passes.
    public var allowsUnanchored = false
    /// The oldest measurement in seconds; 255 for any.
    public var measuredMax: UInt8 = 255
    /// How many installations are known at a time. One takes about 500 bytes.
    public var capacity = 100_000
    /// Seconds for which a judgement is kept under its idempotency key.
    public var retention: UInt32 = 86_400

    /// The settings without changes.
    public init() {}
  }

  /// A question about a token.
  public struct Question: Sendable, Hashable {
    /// 88 characters.
    public var token: String
    /// The event that it must be for.
    public var event: UInt16
    /// The user account, as the backend knows it; nil for none.
    public var account: String?
    /// The business data, byte for byte as the app took it; nil for none.
    public var data: [UInt8]?
    /// A name of this question, chosen by the backend: asked again under the same name, it gets the same judgement.
    public var idempotencyKey: String?

    /// Describes a question.
    public init(
      _ token: String, event: UInt16, account: String? = nil, data: [UInt8]? = nil,
      idempotencyKey: String? = nil
    ) {
      self.token = token
      self.event = event
      self.account = account
      self.data = data
      self.idempotencyKey = idempotencyKey
    }
  }

  private struct Known: Sendable {
    let facts: GateFacts
    let keys: CompactKeys
  }

  /// The audience whose events this redeemer judges.
  public let audience: AudienceID
  private let redeemer: String
  private let accountKeys: [UInt8: GateAccountKey]
  private let replay: any ReplayStore
  private let settings: Settings
  /// The rules by event number. A number of none of them is refused.
  private let rules: [EventRules]
  private let clock: GateClock
  private let start: GateStart
  private let beacons: BeaconClock
  private let known: Admissions<Known>
  private let pool = SecretPool(for: .events)
  private let errors = CoreLock([Int](repeating: 0, count: 256))

  /// A redeemer.
  ///
  /// - Parameters:
  ///   - audience: Its audience.
  ///   - name: Its name: idempotency keys of two redeemers with one store are told apart by it.
  ///   - beacons: The gate's beacon key.
  ///   - accountKeys: The gate's account keys, more than one while they rotate.
  ///   - replay: A store of this audience alone.
  ///   - settings: Clock and bounds.
  /// - Throws: ``ReplayStoreFailure``.
  public convenience init(
    for audience: AudienceID, name: String, beacons: BeaconKey, accountKeys: [GateAccountKey],
    replay: any ReplayStore, settings: Settings = Settings()
  ) throws(ReplayStoreFailure) {
    try self.init(
      for: audience, name: name, beacons: beacons, accountKeys: accountKeys, replay: replay,
      settings: settings, rules: [EventRules(settings)])
  }

  init(
    for audience: AudienceID, name: String, beacons: BeaconKey, accountKeys: [GateAccountKey],
    replay: any ReplayStore, settings: Settings, rules: [EventRules]
  ) throws(ReplayStoreFailure) {
    self.rules = rules
    self.audience = audience
    redeemer = name
    self.accountKeys = Dictionary(accountKeys.map { ($0.number, $0) }) { $1 }
    self.replay = replay
    self.settings = settings
    let now = UInt64(clamping: settings.clock.now.seconds)
    let memory = try replay.begin(at: now)
    clock = GateClock(settings.clock, from: memory.highest)
    start = GateStart(memory, window: rules.map(\.window).max() ?? settings.window)
    self.beacons = BeaconClock(beacons)
    known = Admissions(capacity: settings.capacity)
  }

  /// Learns the keys of one installation for this audience. A ``RequestVerifier`` calls it for each token that it opens.
  ///
  /// - Parameter grant: An opened gate token. Nothing of its secret is kept but the keys of this audience.
  public func admit(_ grant: GateGrant) {
    let keys = grant.secret.eventKeys(for: audience, in: pool)
    known.put(Known(facts: GateFacts(grant, handle: keys.handle), keys: keys), for: keys.handle)
  }

  /// Tokens of apps in an error state, by cause: those that the app's keys vouch for, and those of apps without keys.
  public var errorStates: [UInt8: Int] {
    errors.withLock { counts in
      Dictionary(
        uniqueKeysWithValues: counts.indices.filter { counts[$0] > 0 }.map {
          (UInt8($0), counts[$0])
        })
    }
  }

  /// Judges a token.
  ///
  /// A judgement is kept under the question's idempotency key if the token's tag was right, whatever it says.
  ///
  /// - Parameter question: The token, and what it must be for.
  /// - Returns: The judgement.
  public func judge(_ question: Question) -> EventJudgement {
    let now = clock.now
    guard let rules = rules.first(where: { $0.numbers.contains(question.event) }) else {
      return .refused(.unlistedEvent)
    }
    guard !rules.needsAccount || question.account != nil else { return .refused(.needsAccount) }
    guard !rules.needsData || question.data != nil else { return .refused(.needsData) }
    guard let head = try? CompactToken.head(of: question.token, as: .event) else {
      return refuseHead(question)
    }
    guard let found = known.find(head.handle) else { return .refused(.refused(.handle)) }
    let facts = found.entry.facts
    guard facts.notAfter >= now else { return .refused(.refused(.handle)) }
    let digest = Self.digest(of: question)
    let name = question.idempotencyKey.map { Self.name("\(redeemer.utf8.count):\(redeemer)\($0)") }
    if let name {
      do throws(ReplayStoreFailure) {
        if let kept = try replay.judgement(under: name) { return Self.again(kept, digest, facts) }
      } catch {
        return .refused(.store)
      }
    }
    guard let subject = subject(of: question, head.accountKey) else {
      return .refused(.unknownAccountKey)
    }
    let token: CompactToken
    do throws(GateRefusal) {
      token = try CompactToken(checking: question.token, for: subject, with: found.entry.keys)
    } catch {
      if error == .errorState { countError(in: question.token) }
      return .refused(.refused(error))
    }
    let reason = reason(against: token, rules, question.event, now)
    let judgement = judgement(on: token, reason, facts, now)
    return settle(judgement, token, rules.window, name, digest, facts, now)
  }

  // MARK: Steps

  private func refuseHead(_ question: Question) -> EventJudgement {
    do throws(GateRefusal) {
      _ = try CompactToken.head(of: question.token, as: .event)
      return .refused(.refused(.text))
    } catch {
      if error == .errorState { countError(in: question.token) }
      return .refused(.refused(error))
    }
  }

  private func countError(in token: String) {
    let cause = CompactToken.cause(in: token, as: .event) ?? 0
    errors.withLock { $0[Int(cause)] += 1 }
  }

  private func subject(of question: Question, _ accountKey: UInt8) -> CompactSubject? {
    let data = question.data.map { Digest(hashing: $0) }
    guard let account = question.account else { return .event(data: data) }
    guard let key = accountKeys[accountKey], let digest = try? key.digest(of: account) else {
      // A token without an account, asked about for one: the core's hints tell it as another account.
      guard accountKey == 0, let any = accountKeys.values.first,
        let digest = try? any.digest(of: account)
      else { return nil }
      return .event(data: data, account: digest)
    }
    return .event(data: data, account: digest)
  }

  private func reason(
    against token: CompactToken, _ rules: EventRules, _ event: UInt16, _ now: UInt64
  ) -> EventJudgement.Reason? {
    do throws(GateRefusal) {
      try token.judge(
        by: CompactToken.Rules(
          now: now, window: rules.window,
          newest: known.find(token.handle, start: token.start)?.newest ?? 0,
          event: event, measuredMax: rules.measuredMax,
          beacons: rules.allowsUnanchored ? nil : beacons.valid(at: now)))
    } catch {
      return .refused(error)
    }
    return start.mayHaveCounted(UInt64(token.created)) ? .beforeStart : nil
  }

  /// Uses the token, and keeps the judgement under the question's name, in one step of the store.
  private func settle(
    _ judgement: EventJudgement, _ token: CompactToken, _ window: UInt32, _ name: ReplayKey?,
    _ digest: [UInt8],
    _ facts: GateFacts, _ now: UInt64
  ) -> EventJudgement {
    let expiry = UInt64(token.created) + 2 * UInt64(window) + UInt64(settings.skew)
    do throws(ReplayStoreFailure) {
      guard let name else {
        guard judgement.isValid else { return judgement }
        guard try replay.insert(token.replayKey, until: expiry, at: now) else {
          return self.judgement(on: token, .refused(.replayed), facts, now)
        }
        known.note(token.handle, start: token.start, count: token.count)
        return judgement
      }
      let record = ReplayRecord(
        name: name, bytes: KeptJudgement(digest, judgement).bytes,
        expiry: now + UInt64(settings.retention))
      let key = judgement.isValid ? token.replayKey : nil
      switch try replay.record(record, using: key, until: expiry, at: now) {
      case .recorded:
        if judgement.isValid {
          known.note(token.handle, start: token.start, count: token.count)
        }
        return judgement
      case .known(let kept): return Self.again(kept, digest, facts)
      case .used:
        return self.judgement(on: token, .refused(.replayed), facts, now)
      }
    } catch {
      return .refused(.store)
    }
  }

  private func judgement(
    on token: CompactToken, _ reason: EventJudgement.Reason?, _ facts: GateFacts, _ now: UInt64
  ) -> EventJudgement {
    EventJudgement(
      reason: reason, facts: facts, created: token.created,
      age: Int64(clamping: now) - Int64(token.created), measured: token.measured,
      isYoung: token.isYoung, isAnchored: token.isAnchored(by: beacons.valid(at: now)),
      isRepeated: false)
  }

  private static func again(
    _ bytes: [UInt8], _ question: [UInt8], _ facts: GateFacts
  ) -> EventJudgement {
    guard let kept = KeptJudgement(bytes), kept.question == question else {
      return .refused(.otherQuestion)
    }
    return kept.judgement(facts)
  }

  private static func name(_ text: String) -> ReplayKey {
    guard let key = try? ReplayKey(Array(Digest(hashing: Array(text.utf8)).bytes.prefix(24)))
    else { preconditionFailure("A replay key has 24 bytes.") }
    return key
  }

  /// SHA-256 of everything that a question says, each part with its length.
  private static func digest(of question: Question) -> [UInt8] {
    var bytes = Array("\(question.token.utf8.count):\(question.token)\(question.event):".utf8)
    bytes += question.account.map { Array("\($0.utf8.count):\($0)".utf8) } ?? [0]
    bytes += question.data.map { [1] + $0 } ?? [0]
    return Digest(hashing: bytes).bytes
  }
}

extension EventJudgement {
  /// A judgement on a token whose tag was not verified.
  static func refused(_ reason: Reason) -> EventJudgement {
    EventJudgement(
      reason: reason, facts: nil, created: nil, age: nil, measured: nil, isYoung: false,
      isAnchored: false, isRepeated: false)
  }
}
