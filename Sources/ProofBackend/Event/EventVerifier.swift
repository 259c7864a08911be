// SPDX-License-Identifier: Apache-2.0

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
    public var clock = UnixClock.system
    /// Seconds by which clocks of the redeemers may differ.
    public var skew: UInt32 = 30
    /// Seconds before and after a token's moment.
    public var window: UInt32 = CompactToken.window
    /// Whether a token without a beacon of the last 15 minutes passes.
    public var allowsUnanchored = false
    /// The oldest measurement in seconds; 255 for any.
    public var measuredMax: UInt8 = 255
    /// How many installations stay known while they send tokens in turn; at most twice as many are kept. One takes
    /// about 500 bytes.
    public var capacity = 100_000
    /// Seconds for which a judgement is kept under its idempotency key.
    public var retention: UInt32 = 86_400

    /// The settings without changes.
    public init() {}
  }

  private struct Known: Sendable {
    let facts: GateFacts
    let keys: CompactKeys
    /// The device's name in the counts.
    let device: ReplayKey
  }

  /// The account's rules about events, until it changes them.
  private struct Terms: Sendable {
    /// The rules by event number. A number of none of them is refused.
    let rules: [EventRules]
    let risks: [RiskRule]
    let accountKeys: [GateAccountKey]
    let start: GateStart

    init(
      _ rules: [EventRules], _ risks: [RiskRule], _ accountKeys: [GateAccountKey],
      _ memory: ReplayMemory
    ) {
      self.rules = rules
      self.risks = risks
      self.accountKeys = accountKeys
      start = GateStart(memory, window: rules.map(\.window).max() ?? CompactToken.window)
    }

    func accountKey(_ number: UInt8) -> GateAccountKey? {
      accountKeys.first { $0.number == number }
    }
  }

  /// The audience whose events this redeemer judges.
  public let audience: AudienceID
  private let redeemer: String
  private let replay: any RedemptionStore
  private let settings: Settings
  private let clock: GateClock
  private let memory: ReplayMemory
  private let terms: CoreLock<Terms>
  private let addresses = AddressCounts()
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
    replay: any RedemptionStore, settings: Settings = Settings()
  ) throws(ReplayStoreFailure) {
    try self.init(
      for: audience, name: name, beacons: beacons, accountKeys: accountKeys, replay: replay,
      settings: settings, rules: [EventRules(settings)])
  }

  init(
    for audience: AudienceID, name: String, beacons: BeaconKey, accountKeys: [GateAccountKey],
    replay: any RedemptionStore, settings: Settings, rules: [EventRules], risks: [RiskRule] = []
  ) throws(ReplayStoreFailure) {
    self.audience = audience
    redeemer = name
    self.replay = replay
    self.settings = settings
    memory = try replay.begin(at: settings.clock.now)
    clock = GateClock(settings.clock, from: memory.highest)
    terms = CoreLock(Terms(rules, risks, accountKeys, memory))
    self.beacons = BeaconClock(beacons)
    known = Admissions(capacity: settings.capacity)
  }

  /// Learns the keys of one installation for this audience. A ``RequestVerifier`` calls it for each token that it opens.
  ///
  /// - Parameter grant: An opened gate token. Nothing of its secret is kept but the keys of this audience.
  public func admit(_ grant: GateGrant) {
    let keys = grant.secret.eventKeys(for: audience, in: pool)
    let facts = GateFacts(grant, handle: keys.handle)
    let device = Self.name("pfb1.count-device", audience.bytes + facts.instance.bytes)
    known.put(Known(facts: facts, keys: keys, device: device), for: keys.handle)
  }

  /// Judges by a newer configuration from now on. Installations that are known stay known.
  ///
  /// - Parameter configuration: The gate's, or that of the redeemers of this audience. Without an event of this audience
  ///   every event is refused.
  public func follow(_ configuration: GateConfiguration) {
    let rules = configuration.events.filter { $0.audience == audience }.map { EventRules($0) }
    let new = Terms(rules, configuration.risks, configuration.accountKeys, memory)
    terms.withLock { $0 = new }
  }

  /// Forgets which devices an account was seen with, under each account key that is here.
  ///
  /// - Parameter account: The user account, as the backend knows it.
  /// - Returns: How many devices it was seen with.
  /// - Throws: ``ReplayStoreFailure``.
  @discardableResult
  public func forget(account: String) throws(ReplayStoreFailure) -> Int {
    var count = 0
    for key in terms.withLock({ $0.accountKeys }) {
      guard let digest = try? key.digest(of: account) else { continue }
      count += try replay.forget(account: name(of: digest))
    }
    return count
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
    var judgement = judged(question, terms.withLock { $0 }, now, uses: true)
    // A token that does not count says nothing about the device and the account: anyone can name them.
    guard !judgement.isValid else { return judgement }
    if !judgement.isRepeated, judgement.reason != .store {
      addresses.add(question.address, at: now)
      judgement.invalidOfAddress = addresses.span(of: question.address, at: now)
    }
    return judgement
  }

  /// Judges a token without using it up: nothing is counted or kept, and an earlier use is not looked up.
  ///
  /// - Parameter question: The token, and what it must be for; its idempotency key has no effect.
  /// - Returns: The judgement, without counts and risk.
  package func check(_ question: Question) -> EventJudgement {
    var question = question
    question.idempotencyKey = nil
    return judged(question, terms.withLock { $0 }, clock.now, uses: false)
  }

  // MARK: Steps

  private func judged(
    _ question: Question, _ terms: Terms, _ now: UnixTime, uses: Bool
  ) -> EventJudgement {
    guard let rules = terms.rules.first(where: { $0.numbers.contains(question.event) }) else {
      return .refused(.unlistedEvent)
    }
    guard !rules.needsAccount || question.namesAccount else { return .refused(.needsAccount) }
    guard !rules.needsData || question.bound != nil else { return .refused(.needsData) }
    guard let head = try? CompactToken.head(of: question.token, as: .event) else {
      return refuseHead(question)
    }
    guard let found = known.find(head.handle) else { return .refused(.refused(.handle)) }
    let facts = found.entry.facts
    guard facts.notAfter >= now else { return .refused(.refused(.handle)) }
    guard question.instance == nil || question.instance == facts.instance else {
      return .refused(.otherApp)
    }
    let digest = Self.digest(of: question)
    let name = question.idempotencyKey.map {
      Self.name("", Array("\(redeemer.utf8.count):\(redeemer)\($0)".utf8))
    }
    if let name {
      do throws(ReplayStoreFailure) {
        if let kept = try replay.judgement(under: name) { return Self.again(kept, digest, facts) }
      } catch {
        return .refused(.store)
      }
    }
    guard let subject = subject(of: question, head.accountKey, terms) else {
      return .refused(.unknownAccountKey)
    }
    let token: CompactToken
    do throws(GateRefusal) {
      token = try CompactToken(checking: question.token, for: subject, with: found.entry.keys)
    } catch {
      if error == .errorState { countError(in: question.token) }
      return .refused(.refused(error))
    }
    let reason = reason(against: token, rules, question.event, terms, now)
    let judgement = judgement(on: token, reason, facts, now)
    let asked = Asked(
      question: question, digest: digest, name: name, token: token, known: found.entry,
      window: rules.window, now: now)
    guard reason == nil else { return record(judgement, asked) }
    return uses ? redeem(judgement, asked, terms) : judgement
  }

  /// A question about a token whose tag is right.
  private struct Asked {
    let question: Question
    let digest: [UInt8]
    let name: ReplayKey?
    let token: CompactToken
    let known: Known
    let window: UInt32
    let now: UnixTime
  }

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

  private func subject(
    of question: Question, _ accountKey: UInt8, _ terms: Terms
  ) -> CompactSubject? {
    let data = question.bound
    if let found = question.accountDigest {
      guard terms.accountKey(found.key) != nil else { return nil }
      return .event(data: data, account: found.digest)
    }
    guard let account = question.account else { return .event(data: data) }
    guard let key = terms.accountKey(accountKey), let digest = try? key.digest(of: account) else {
      // A token without an account, asked about for one: the core's hints tell it as another account.
      guard accountKey == 0, let any = terms.accountKeys.first,
        let digest = try? any.digest(of: account)
      else { return nil }
      return .event(data: data, account: digest)
    }
    return .event(data: data, account: digest)
  }

  private func reason(
    against token: CompactToken, _ rules: EventRules, _ event: UInt16, _ terms: Terms,
    _ now: UnixTime
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
    return terms.start.mayHaveCounted(token.created) ? .beforeStart : nil
  }

  /// Uses the token, counts it, and keeps the judgement under the question's name, in one step of the store.
  private func redeem(
    _ judgement: EventJudgement, _ asked: Asked, _ terms: Terms
  ) -> EventJudgement {
    let (token, now) = (asked.token, asked.now)
    var judgement = judgement
    judgement.invalidOfAddress = addresses.span(of: asked.question.address, at: now)
    let redemption = Redemption(
      token.replayKey,
      until: token.created + (2 * UInt64(asked.window) + UInt64(settings.skew)),
      device: asked.known.device, account: accountName(asked.question, terms), name: asked.name,
      kept: now + settings.retention)
    do throws(ReplayStoreFailure) {
      let end = try replay.redeem(redemption, at: now) { counts in
        judgement.counts = counts
        judgement.risk = EventRisk(
          terms.risks, asked.question.event,
          RiskEvent(
            judgement: judgement, facts: asked.known.facts, counts: counts,
            invalid: judgement.invalidOfAddress, now: now))
        return asked.name == nil ? [] : KeptJudgement(asked.digest, judgement).bytes
      }
      switch end {
      case .redeemed:
        known.note(token.handle, start: token.start, count: token.count)
        return judgement
      case .known(let kept): return Self.again(kept, asked.digest, asked.known.facts)
      case .used:
        return self.judgement(on: token, .refused(.replayed), asked.known.facts, now)
      }
    } catch {
      return .refused(.store)
    }
  }

  /// Keeps a judgement on a token that does not count under the question's name. The token is not used up.
  private func record(_ judgement: EventJudgement, _ asked: Asked) -> EventJudgement {
    guard let name = asked.name else { return judgement }
    let record = ReplayRecord(
      name: name, bytes: KeptJudgement(asked.digest, judgement).bytes,
      expiry: asked.now + settings.retention)
    do throws(ReplayStoreFailure) {
      if case .known(let kept) = try replay.record(record, using: nil, until: 0, at: asked.now) {
        return Self.again(kept, asked.digest, asked.known.facts)
      }
      return judgement
    } catch {
      return .refused(.store)
    }
  }

  /// The account's name in the counts. It follows from the first account key, so a rotation of that key begins the
  /// counts of accounts anew.
  private func accountName(_ question: Question, _ terms: Terms) -> ReplayKey? {
    // A digest under an earlier key cannot be computed under the first one: it counts by itself.
    if let found = question.accountDigest { return name(of: found.digest) }
    guard let account = question.account,
      let digest = try? terms.accountKeys.first?.digest(of: account)
    else { return nil }
    return name(of: digest)
  }

  private func name(of account: Digest) -> ReplayKey {
    Self.name("pfb1.count-account", audience.bytes + account.bytes)
  }

  private func judgement(
    on token: CompactToken, _ reason: EventJudgement.Reason?, _ facts: GateFacts, _ now: UnixTime
  ) -> EventJudgement {
    EventJudgement(
      reason: reason, facts: facts, created: token.created,
      age: Int64(now - token.created), measured: token.measured,
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

  private static func name(_ label: String, _ bytes: [UInt8]) -> ReplayKey {
    let digest = Digest(hashing: Array(label.utf8) + bytes)
    guard let key = try? ReplayKey(Array(digest.bytes.prefix(ReplayKey.byteCount))) else {
      preconditionFailure("A replay key has 24 bytes.")
    }
    return key
  }

  /// SHA-256 of everything that a question says, each part with its length.
  private static func digest(of question: Question) -> [UInt8] {
    var bytes = Array("\(question.token.utf8.count):\(question.token)\(question.event):".utf8)
    let account = question.accountDigest?.text ?? question.account
    bytes += account.map { Array("\($0.utf8.count):\($0)".utf8) } ?? [0]
    bytes += question.bound.map { [1] + $0.bytes } ?? [0]
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
