// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend
@testable import ProofGate

/// A gate with a signed configuration and a file of rules, its nodes, and an app that it admits.
struct ForwardSite {
  static let now = Site.start

  /// One line of a question.
  typealias Line = (name: String, value: String)

  let site: Site
  let replay: SharedStore
  /// The used event tokens; a store of their own.
  let events: SharedStore
  let redeemer: EventVerifier?
  let configuration: GateConfiguration
  let requests: RequestVerifier
  let desks: GateDesks
  let gate: ForwardGate
  let handle: String
  let token: String
  let secret: GateSecret
  let instance: InstanceID
  private let identity: GateIdentity
  private let rules: ForwardGate.Rules
  private let openings: OpeningBudget

  init(
    _ rules: String, form: String = "standard", watchesAll: Bool = false, isFailed: Bool = false,
    seen: UnixTime = now - 200_000, style: ForwardStyle = .original, floor: UnixTime = 0,
    challenges: String = "", staleAfter: Int64? = nil, bypass: BypassFile? = nil,
    redeems: Bool = false, eventMemory: SharedStore = SharedStore(), eventCapacity: Int = 1000,
    openings: OpeningBudget = OpeningBudget()
  ) throws {
    self.openings = openings
    site = try Site()
    replay = SharedStore()
    events = eventMemory
    let issuer = IssuerKey.random()
    let gateSecret = [UInt8](repeating: 9, count: 32)
    let key = try GateIdentity.Key(SecretBytes(copying: gateSecret.span), number: 1)
    configuration = try Self.configuration(
      site.id, form, key.publicKey.bytes, issuer.publicKey.bytes, floor.unsigned, challenges,
      redeems)
    identity = try configuration.identity([GateSecretKey(SecretBytes(copying: gateSecret.span))])
    self.rules = try ForwardGate.Rules(
      configuration, RouteFile(Array(rules.utf8)), style, takesRouteNames: false,
      watchesAll: watchesAll, staleAfter: staleAfter, bypass: bypass)
    redeemer =
      redeems
      ? try Self.redeemer(site, configuration, events, capacity: eventCapacity) : nil
    (requests, desks, gate) = try Self.node(site, identity, replay, self.rules, redeemer, openings)
    secret = try GateSecret.random(generation: 1)
    handle = Base64.encode(secret.keys.handle.bytes, .url)
    instance = .random()
    var grant = GateGrant(
      for: site.id, instance: instance, mode: .production, issued: Self.now,
      notAfter: Self.now + 36_000, firstSeen: seen, secret: secret)
    grant.isFailed = isFailed
    token = Base64.encode(try grant.sealed(to: key.publicKey, signedBy: issuer).bytes, .url)
  }

  private static func node(
    _ site: Site, _ identity: GateIdentity, _ replay: SharedStore, _ rules: ForwardGate.Rules,
    _ redeemer: EventVerifier?, _ openings: OpeningBudget
  ) throws -> (RequestVerifier, GateDesks, ForwardGate) {
    var settings = RequestVerifier.Settings()
    settings.clock = site.clock.clock
    settings.openings = openings
    let requests = try RequestVerifier(
      identity, own: site.own, replay: replay, events: redeemer.map { [$0] } ?? [],
      settings: settings)
    let desks = try GateDesks(site.own, replay: replay, clock: site.clock.clock)
    return (
      requests, desks,
      try ForwardGate(rules, requests, own: site.own, desks: desks, redeemer: redeemer)
    )
  }

  private static func redeemer(
    _ site: Site, _ configuration: GateConfiguration, _ events: SharedStore, capacity: Int
  ) throws -> EventVerifier {
    var settings = EventVerifier.Settings()
    settings.clock = site.clock.clock
    settings.capacity = capacity
    return try EventVerifier(
      by: configuration, for: "shop", name: "web", beacons: site.own.beacons, replay: events,
      settings: settings)
  }

  /// Another node of the gate, with the same replay store.
  func other() throws -> (requests: RequestVerifier, gate: ForwardGate) {
    let redeemer =
      redeemer == nil
      ? nil : try Self.redeemer(site, configuration, events, capacity: 1000)
    let (requests, _, gate) = try Self.node(site, identity, replay, rules, redeemer, openings)
    return (requests, gate)
  }

  private static func configuration(
    _ id: GateID, _ form: String, _ key: [UInt8], _ issuer: [UInt8], _ floor: UInt64,
    _ challenges: String, _ redeems: Bool
  ) throws -> GateConfiguration {
    let signing = try JSONWebKey.random(.edDSA)
    let publicKey = try #require(signing.publicBytes)
    func text(_ bytes: [UInt8]) -> String { Base64.encode(bytes, .url) }
    let listed =
      #"{"first":3300,"last":3310,"audience":"shop","aud":"\#(text(audience.bytes))","life":60,"#
      + #""account":false,"data":false,"unanchored":false,"measured":255}"#
    let key1 = #"{"num":1,"sta":"active","key":"\#(text(accountKey))"}"#
    let (events, account) = redeems ? (listed, key1) : ("", "")
    let payload = """
      {"acc":"demo","nam":"web","gat":"\(text(id.bytes))","ser":7,"iat":\(now),"use":3600,\
      "mod":"production","flr":\(floor),"frm":"\(form)","hdr":{"proof":"proof","token":"proof-token"},\
      "hst":["\(Site.host)","\(elsewhere)"],"xks":[{"num":1,"sta":"active","key":"\(text(key))"}],"aks":[\(account)],\
      "iss":[{"id":"i","sta":"active","key":"\(text(issuer))"}],"rev":[],"evt":[\(events)],\
      "challenges":[\(challenges)],\
      "key":"\(text(publicKey))"}
      """
    return try GateConfiguration(
      JWSSigner(signing).sign(payload: Array(payload.utf8).span, type: "gate+jwt"),
      signedBy: Digest(hashing: Array("pfa1.config-key.".utf8) + publicKey))
  }

  /// The audience of the account's events.
  static let audience = AudienceID.random()
  private static let accountKey = [UInt8](repeating: 3, count: 32)

  /// The gate's second host.
  static let elsewhere = "more.example.com"

  // MARK: Requests

  /// The header of a request that the app proves.
  func proven(
    _ method: String, _ target: String, body: [UInt8]? = nil, token: Bool = true,
    host: String = Site.host, account: String? = nil
  ) throws -> [Line] {
    var head = try RequestHead(method: method, scheme: .https, authority: host, target: target)
    if let account { try head.fields.append(StandardForm.accountField, account) }
    try secret.keys.withRequestKey { key in
      try StandardForm().sign(
        &head, body: body.map { ContentDigest(Digest(hashing: $0)) }, with: key, keyID: handle,
        created: site.clock.now, nonce: VerdictDesk.reference())
    }
    return head.fields.fields.map { ($0.name, $0.value) }
      + (token ? [("Proof-Token", self.token)] : [])
  }

  /// The value of `Proof-Account` for a user.
  static func account(_ name: String) throws -> EventAccount {
    let key = try GateAccountKey(SecretBytes(copying: accountKey.span), number: 1)
    return try #require(EventAccount(key.digest(of: name), key: 1))
  }

  /// An event token of the app, or of another secret.
  func event(
    _ number: UInt16 = 3300, data: [UInt8]? = nil, account: EventAccount? = nil,
    of secret: GateSecret? = nil, count: UInt32 = 1, isAnchored: Bool = true
  ) throws -> String {
    let now = site.clock.now
    var draft = CompactDraft(
      created: now, start: 7, count: count, measured: 3, event: number,
      accountKey: account?.key ?? 0)
    if isAnchored { draft.beacon = try Beacon(header: site.own.beacons.header(at: now)) }
    return try draft.text(
      for: .event(data: data.map { Digest(hashing: $0) }, account: account?.digest),
      with: (secret ?? self.secret).eventKeys(for: Self.audience))
  }

  func answer(
    _ method: String, _ target: String, _ fields: [Line] = [], host: String = Site.host,
    from address: String = Site.address, at gate: ForwardGate? = nil
  ) -> ForwardAnswer {
    let gate = gate ?? self.gate
    return gate.answer(
      gate.style.told(method: method, target: target, host: host) + fields, from: address,
      at: site.clock.now)
  }

  /// The answer to a request that the app proves, and the verdict as its API reads it.
  func ask(
    _ method: String, _ target: String, body: [UInt8]? = nil
  ) throws -> (answer: ForwardAnswer, verdict: GateVerdict?) {
    let answer = answer(method, target, try proven(method, target, body: body))
    return (answer, try verdict(answer, method, target, body: body ?? []))
  }

  func verdict(
    _ answer: ForwardAnswer, _ method: String, _ target: String, body: [UInt8] = []
  ) throws -> GateVerdict? {
    guard let text = answer["Proof-Verdict"] else { return nil }
    return try GateVerdictReader(for: Site.host, keys: site.own.verdictKeys(for: Site.host))
      .check(
        text, method: method, target: target, body: Digest(hashing: body),
        now: site.clock.now)
  }

  /// The fields of a right answer to a refusal's challenge of kind work.
  func solved(_ answer: ForwardAnswer) throws -> [Line] {
    let id = try #require(answer["Proof-Challenge"])
    return [("Proof-Challenge", id), ("Proof-Answer", try solve(id).solution)]
  }
}

extension ForwardSite {
  /// Rules that need each kind of challenge.
  private static let needs = """
    route open
      path /open
      need none
      origin https://www.example.com
    route search
      path /search
      need work 3
      origin https://www.example.com
    route other
      path /other
      need work 3
    route hard
      path /hard
      need work 5
    route memory
      path /memory
      need memory 1
    route person
      path /person
      need person
    route pair
      path /pair
      need work 2 memory 1
    route token
      path /token
      need token
    route both
      path /both
      need proof work 3
      young none
    route spent
      path /spent
      need work 3
      spend yes
    route watched
      path /watched
      need work 3
      mode watch
    route quiet
      path /quiet
      need proof
      young none
    route rest
      path /*
      need proof
      young work 2
    """

  /// A gate whose rules need each kind of challenge.
  static func needing(
    isFailed: Bool = false, seen: UnixTime = now - 200_000, style: ForwardStyle = .original,
    floor: UnixTime = 0, openings: OpeningBudget = OpeningBudget()
  ) throws -> ForwardSite {
    try ForwardSite(
      needs, isFailed: isFailed, seen: seen, style: style, floor: floor, openings: openings)
  }
}

extension ForwardAnswer {
  /// The value of a field.
  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The bytes of the challenge.
  func challengeBytes() throws -> [UInt8] {
    let text = try #require(self["Proof-Challenge"])
    return try #require(Base64.decode(text, .url))
  }

  /// The kind of the challenge.
  var challengeKind: ChallengeKind? {
    get throws { ChallengeKind(rawValue: try challengeBytes()[0] & 15) }
  }

  /// The level of the challenge.
  var challengeLevel: UInt8 {
    get throws { try challengeBytes()[2] }
  }
}
