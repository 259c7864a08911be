// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Synchronization

@testable import ProofBackend

/// A clock that a test sets.
final class SetClock: Sendable {
  private let seconds: Atomic<Int64>

  init(_ start: UnixTime) { seconds = Atomic(start.seconds) }

  var now: UnixTime {
    get { UnixTime(seconds: seconds.load(ordering: .sequentiallyConsistent)) }
    set { seconds.store(newValue.seconds, ordering: .sequentiallyConsistent) }
  }

  var clock: UnixClock { UnixClock { self.now } }
}

/// A replay store that a test switches off.
final class FailingReplayStore: RedemptionStore {
  private let store = MemoryReplayStore()
  private let fails = Atomic(false)
  private let expiry = Atomic<Int64>(0)
  /// The answer of `begin`.
  let memory: ReplayMemory

  init(_ memory: ReplayMemory = ReplayMemory(highest: 0, gap: nil)) {
    self.memory = memory
  }

  var isFailing: Bool {
    get { fails.load(ordering: .sequentiallyConsistent) }
    set { fails.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// The end that the last key was inserted with.
  var lastExpiry: UnixTime { UnixTime(seconds: expiry.load(ordering: .sequentiallyConsistent)) }

  private func check() throws(ReplayStoreFailure) {
    if isFailing { throw .unavailable(place: "test", reason: "switched off") }
  }

  func begin(at now: UnixTime) -> ReplayMemory { memory }

  func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    try check()
    self.expiry.store(expiry.seconds, ordering: .sequentiallyConsistent)
    return try store.insert(key, until: expiry, at: now)
  }

  func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    try check()
    return store.judgement(under: name)
  }

  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    try check()
    return try store.record(record, using: key, until: expiry, at: now)
  }

  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    try check()
    return try store.redeem(redemption, at: now, judged)
  }

  func forget(account: ReplayKey) throws(ReplayStoreFailure) -> Int {
    try check()
    return store.forget(account: account)
  }
}

/// One gate with its service, and apps that send requests to it.
struct Gate {
  static let start: UnixTime = 1_800_000_000
  static let host = "api.example.com"
  static let body = Array(#"{"cents":1200}"#.utf8)

  let id: GateID
  let issuer = IssuerKey.random()
  let identity: GateIdentity
  let clock = SetClock(start)
  let accountKey: GateAccountKey
  private let own = [UInt8](repeating: 0x5a, count: 32)

  init(id: GateID = .random()) throws {
    self.id = id
    identity = try GateIdentity(
      id: id, keys: [GateIdentity.Key(.random(count: 32), number: 1)],
      issuers: [issuer.publicKey], mode: .production)
    accountKey = try GateAccountKey(
      SecretBytes(copying: [UInt8](repeating: 3, count: 32).span), number: 1)
  }

  func ownKeys() throws -> GateOwnKeys {
    try GateOwnKeys(of: id, [GateOwnSecret(SecretBytes(copying: own.span), number: 1)])
  }

  func beaconKey() throws -> BeaconKey {
    try BeaconKey(from: SecretBytes(copying: own.span), number: 1, of: id)
  }

  func verifier(
    _ replay: any ReplayStore = FailingReplayStore(), events: [EventVerifier] = [],
    settings: RequestVerifier.Settings = .init()
  ) throws -> RequestVerifier {
    var settings = settings
    settings.clock = clock.clock
    return try RequestVerifier(
      identity, own: ownKeys(), replay: replay, events: events, settings: settings)
  }

  func redeemer(
    _ audience: AudienceID, _ replay: any RedemptionStore = FailingReplayStore(),
    name: String = "shop", settings: EventVerifier.Settings = .init(), rules: [RiskRule] = []
  ) throws -> EventVerifier {
    var settings = settings
    settings.clock = clock.clock
    return try EventVerifier(
      for: audience, name: name, beacons: beaconKey(), accountKeys: [accountKey], replay: replay,
      settings: settings, rules: [EventRules(settings)], risks: rules)
  }
}

/// An app installation with the secret of one gate.
struct GateApp {
  let secret: GateSecret
  let instance: InstanceID
  let keys: GateKeys
  let token: String
  let grant: GateGrant
  let handleText: String
  private let gate: Gate

  init(
    at gate: Gate, instance: InstanceID = .random(), generation: UInt32 = 1,
    issued: UnixTime = Gate.start, isFailed: Bool = false, hasWrongSecret: Bool = false
  ) throws {
    self.gate = gate
    self.instance = instance
    let secret = try GateSecret.random(generation: generation)
    self.secret = secret
    keys = secret.keys
    handleText = keys.handle.withBytes { Base64.encode($0, .url) }
    var grant = GateGrant(
      for: gate.id, instance: instance, mode: .production, issued: issued,
      notAfter: issued + 3600, firstSeen: issued - 86_400,
      secret: hasWrongSecret ? try .random(generation: generation) : secret)
    grant.isFailed = isFailed
    grant.responseCode = "ABCDEFGH27"
    grant.properties = 1 << 16
    grant.findings = [GateFinding(category: 3, number: 1)]
    self.grant = grant
    token = Base64.encode(
      try grant.sealed(to: gate.identity.publicKeys[0], signedBy: gate.issuer).bytes, .url)
  }

  /// A request of the standard form with the gate token.
  func standard(
    _ method: String = "POST", _ target: String = "/pay?to=7", body: [UInt8]? = Gate.body,
    fields: [(name: String, value: String)] = [("Content-Type", "application/json")],
    host: String = Gate.host, created: UnixTime? = nil, nonce: String? = nil,
    withToken: Bool = true,
    address: String? = "192.0.2.1"
  ) throws -> ReceivedRequest {
    var head = try RequestHead(
      method: method, scheme: .https, authority: host, target: target,
      fields: HeaderFields(fields))
    let digest = body.map { Digest(hashing: $0) }
    try keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: digest.map { ContentDigest($0) }, with: key, keyID: handleText,
        created: created ?? gate.clock.now, nonce: nonce ?? ReplayKey.fresh())
    }
    if withToken { try head.fields.append("Proof-Token", token) }
    return ReceivedRequest(
      method: method, target: target, fields: head.fields,
      body: digest ?? Digest(hashing: []), address: address)
  }

  /// A request of the compact form with the gate token.
  func compact(
    _ method: String = "POST", _ target: String = "/pay?to=7", body: [UInt8] = Gate.body,
    fields: [(name: String, value: String)] = [("Authorization", "Bearer abc")],
    host: String = Gate.host, count: UInt32 = 1, start: UInt32 = 7, created: UnixTime? = nil,
    account: String? = nil, anchored: Bool = true, bodyOnly: Bool = false, withToken: Bool = true
  ) throws -> ReceivedRequest {
    let digest = Digest(hashing: body)
    let authorization = fields.first { $0.name == "Authorization" }?.value
    let accountDigest = try account.map { try gate.accountKey.digest(of: $0) }
    let subject: CompactSubject =
      bodyOnly
      ? .body(digest, account: accountDigest)
      : .request(
        try RequestDigest(
          method: method, scheme: "https", authority: host, target: target, body: digest,
          authorization: authorization), account: accountDigest)
    let text = try draft(count: count, start: start, created: created, anchored: anchored)
      .text(for: subject, with: keys.compact)
    var all = HeaderFields()
    for field in fields { try all.append(field.name, field.value) }
    try all.append("Proof", text)
    if withToken { try all.append("Proof-Token", token) }
    var request = ReceivedRequest(
      method: method, target: target, fields: all, body: digest, address: "192.0.2.1")
    request.account = accountDigest
    return request
  }

  /// An event token.
  func event(
    _ event: UInt16 = 3300, for audience: AudienceID, account: String? = "user-4711",
    data: [UInt8]? = Array("order 17".utf8), count: UInt32 = 1, start: UInt32 = 7,
    created: UnixTime? = nil, anchored: Bool = true, isInErrorState: Bool = false
  ) throws -> String {
    var draft = try draft(count: count, start: start, created: created, anchored: anchored)
    draft.event = event
    draft.accountKey = account == nil ? 0 : 1
    draft.isInErrorState = isInErrorState
    let subject = CompactSubject.event(
      data: data.map { Digest(hashing: $0) },
      account: try account.map { try gate.accountKey.digest(of: $0) })
    return try draft.text(for: subject, with: secret.eventKeys(for: audience))
  }

  private func draft(
    count: UInt32, start: UInt32, created: UnixTime?, anchored: Bool
  ) throws -> CompactDraft {
    let created = created ?? gate.clock.now
    let beacon = try Beacon(header: gate.beaconKey().header(at: gate.clock.now))
    return CompactDraft(
      created: created, start: start, count: count, measured: 3,
      beacon: anchored ? beacon : nil)
  }
}

extension ReplayKey {
  /// A nonce that no other request has.
  static func fresh() -> String {
    GateID.random().withBytes { Base64.encode($0, .url) }
  }

  /// A key from a number.
  static func numbered(_ number: Int) throws -> ReplayKey {
    try ReplayKey(Array(Digest(hashing: Array("\(number)".utf8)).bytes.prefix(24)))
  }
}
