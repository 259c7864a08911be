// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// App, service, gate and redeemer in one process: a gate token, a request and an event.
func probeGate(_ baseline: BaselineProbe) throws {
  let (gate, instance, audience) = (GateID.random(), InstanceID.random(), AudienceID.random())
  let secret: GateSecret = try GateSecret(
    of: baseline.measurement, for: gate, instance: instance, generation: 3, with: baseline.key)
  try expect(GateSecret.byteCount == 32 && secret.generation == 3)
  try probeGateToken(gate, instance, secret)
  let clock = try probeBeacons(gate)
  try probeCompact(secret, audience, clock)
  try probeChallengeProof(secret, gate)
  try probeRefusals()
}

private func probeChallengeProof(_ secret: GateSecret, _ gate: GateID) throws {
  try expect(GateKeys.challengeIDByteCount == 60)
  let id = [UInt8](repeating: 1, count: GateKeys.challengeIDByteCount)
  var place = ChallengePlace(method: "GET", authority: "api.example.com", target: "/")
  try expect(place.scheme == "https" && place.method == "GET" && place.target == "/")
  let proof: Digest = try secret.keys.challengeProof(answering: id, at: gate, for: place)
  try secret.keys.checkChallengeProof(proof, answering: id, at: gate, for: place)
  place.authority = "shop.example.com"
  let other: Digest = try secret.keys.challengeProof(answering: id, at: gate, for: place)
  try expect(other != proof)
}

private func probeGateToken(
  _ gate: GateID, _ instance: InstanceID, _ secret: GateSecret
) throws {
  let key = try GateIdentity.Key(.random(count: 32), number: 7)
  let publicKey: GatePublicKey = key.publicKey
  try expect(publicKey.number == 7 && publicKey.bytes.count == 32)
  try expect(try GatePublicKey(publicKey.bytes, number: 7) == publicKey)
  let issuer = IssuerKey.random()
  var grant = GateGrant(
    for: gate, instance: instance, mode: .development, issued: 1_000, notAfter: 2_000,
    firstSeen: 500, secret: secret)
  try expect(GateGrant.lifeMax == 86_400 && GateGrant.appByteCount == 16)
  grant.isFailed = true
  grant.isForced = true
  grant.properties = 1 << 16
  grant.responseCode = "ABCDEFGH27"
  grant.findings = [GateFinding(category: 3, number: 1)]
  grant.app = [UInt8](repeating: 9, count: GateGrant.appByteCount)
  try expect(GateFinding.countMax == 16 && grant.findings[0].category == 3)
  try expect(grant.findings[0].number == 1 && grant.issuer == nil && grant.keyNumber == nil)
  let token: GateToken = try grant.sealed(to: publicKey, signedBy: issuer)
  try expect(try GateToken(token.bytes) == token && token.bytes.count == GateToken.byteCount)

  try expect(GateIdentity.keyCountMax == 2)
  let identity: GateIdentity = try GateIdentity(
    id: gate, keys: [key], issuers: [issuer.publicKey], mode: .development, floor: 1)
  try expect(identity.id == gate && identity.publicKeys == [publicKey])
  try identity.checkHead(of: token.bytes)
  let opened = try identity.open(token.bytes, at: 1_500)
  try expect(opened.gate == gate && opened.instance == instance && opened.mode == .development)
  try expect(opened.isFailed && opened.isForced && opened.properties == 1 << 16)
  try expect(opened.issued == 1_000 && opened.notAfter == 2_000 && opened.firstSeen == 500)
  try expect(opened.responseCode == "ABCDEFGH27" && opened.app == grant.app)
  try expect(opened.issuer == issuer.id && opened.keyNumber == 7)
  let keys: GateKeys = opened.secret.keys
  let handle: GateHandle = keys.handle
  try expect(handle == secret.keys.handle && keys.generation == 3)
  try expect(keys.withRequestKey { $0.byteCount } == 32)
  try expect(try GateSecret.random(generation: 3).keys.handle != handle)
}

private func probeBeacons(_ gate: GateID) throws -> (Beacon, ValidBeacons) {
  let own = SecretBytes.random(count: 32)
  let key: BeaconKey = try BeaconKey(from: own, number: 1, of: gate)
  let beacon: Beacon = try Beacon(header: key.header(at: 1_700_000_000))
  try expect(beacon.interval == 1_700_000_000 / 300)
  try expect(beacon.header == key.header(at: 1_700_000_000))
  return (beacon, key.valid(at: 1_700_000_000))
}

private func probeCompact(
  _ secret: GateSecret, _ audience: AudienceID, _ clock: (Beacon, ValidBeacons)
) throws {
  let accountKey = try GateAccountKey(.random(count: GateAccountKey.byteCount), number: 2)
  try expect(accountKey.number == 2 && GateAccountKey.nameByteCountMax == 128)
  let account = try accountKey.digest(of: "ada")
  let body = Digest(hashing: [1])
  let request: RequestDigest = try RequestDigest(
    method: "POST", scheme: "https", authority: "api.example.com", target: "/pay", body: body,
    authorization: "Bearer x")
  try expect(request.bytes.count == 32)
  let keys: CompactKeys = secret.keys.compact
  let events = secret.eventKeys(for: audience)
  try expect(!keys.isForEvents && events.isForEvents && keys.handle == events.handle)
  var draft = CompactDraft(
    created: 1_700_000_000, start: 5, count: 9, measured: 4, accountKey: 2, isYoung: true,
    isInErrorState: false, beacon: clock.0)
  try expect(draft.created == 1_700_000_000 && draft.start == 5 && draft.count == 9)
  try expect(draft.measured == 4 && draft.accountKey == 2 && draft.isYoung)
  try expect(!draft.isInErrorState && draft.beacon == clock.0 && draft.event == 0)
  let subject: CompactSubject = .request(request, account: account)
  try expect(subject.kind == CompactKind.request)
  let text = try draft.text(for: subject, with: keys)
  try expect(text.utf8.count == CompactToken.characterCount)
  let head: CompactToken.Head = try CompactToken.head(of: text, as: .request)
  try expect(head.handle == keys.handle && head.accountKey == 2)
  let token = try CompactToken(checking: text, for: subject, with: keys)
  try expect(token.kind == .request && token.handle == keys.handle && token.accountKey == 2)
  try expect(token.created == draft.created && token.event == 0 && token.start == 5)
  try expect(token.count == 9 && token.isYoung && token.measured == 4)
  let replay: ReplayKey = token.replayKey
  try expect(replay.bytes.count == ReplayKey.byteCount && token.isAnchored(by: clock.1))
  var rules = CompactToken.Rules(now: 1_700_000_001)
  try expect(rules.window == CompactToken.window && rules.newest == 0 && rules.event == 0)
  rules.measuredMax = 10
  rules.beacons = clock.1
  try token.judge(by: rules)
  rules.now = rules.now.advanced(by: 1_000)
  try expect(refusal { () throws(GateRefusal) in try token.judge(by: rules) } == .stale)

  try expect(try draft.text(for: .body(body), with: keys).utf8.count == 88)
  draft.event = 3300
  let event = try draft.text(for: .event(data: body, account: account), with: events)
  try expect(try CompactToken.head(of: event, as: .event).handle == events.handle)
  for cause in CompactCause.allCases {
    let lost = CompactDraft.errorText(.event, cause)
    try expect(CompactToken.cause(in: lost, as: .event) == cause.rawValue)
  }
  let causes: [CompactCause] = [.notStarted, .notReady, .failed, .measurement, .page, .internal]
  try expect(CompactCause.allCases == causes)
  try expect(CompactKind.allCases == [.request, .body, .event])
}

private func refusal(_ body: () throws(GateRefusal) -> Void) -> GateRefusal? {
  do { try body() } catch { return error }
  return nil
}

private func probeRefusals() throws {
  let tokens: [GateRefusal] = [
    .tokenLength, .tokenMagic, .tokenVersion, .tokenGate, .tokenKey, .tokenSeal, .tokenIssuer,
    .tokenSignature, .tokenMode, .tokenForm, .tokenRange, .tokenLife, .tokenAhead, .tokenExpired,
    .tokenSuperseded, .tokenRevoked,
  ]
  let compact: [GateRefusal] = [
    .text, .compactLength, .compactVersion, .compactKind, .errorState, .handle, .tag,
    .otherAccount, .otherBody, .otherRequest, .otherData, .reserved, .generation, .event, .ahead,
    .stale, .unanchored, .measured, .kept, .replayed,
  ]
  try expect(GateRefusal.allCases == tokens + compact)
  let kinds: [GateRefusal.Kind] = [.token, .clock, .proof, .refused]
  try expect(GateRefusal.Kind.allCases == kinds && GateRefusal.stale.kind == .clock)
}
