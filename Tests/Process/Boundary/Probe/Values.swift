// SPDX-License-Identifier: Apache-2.0

import ProofModel

struct Fixed: RandomNumberGenerator {
  var state: UInt64 = 1
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state
  }
}

func probeBytes() throws {
  func probe<Value: FixedBytes>(_ kind: Value.Type) throws {
    let bytes = [UInt8](repeating: 7, count: Value.byteCount)
    let value = try Value(bytes.span)
    try expect(value.bytes == bytes)
    try expect(value.withBytes { $0.count } == Value.byteCount)
    try expect(try value == Value(bytes) && value.description.count == 2 * bytes.count)
    var hasher = Hasher()
    value.hash(into: &hasher)
  }
  func probeRandom<Value: RandomBytes>(_ kind: Value.Type) throws {
    var generator = Fixed()
    try expect(Value.random() != Value.random(using: &generator))
  }
  try probe(KeyID.self)
  try probe(IssuerID.self)
  try probe(IssuerPublicKey.self)
  try probe(HardwarePublicKey.self)
  try probe(TokenDigest.self)
  try probe(Digest.self)
  try probe(Proof.self)
  try probeRandom(Salt.self)
  try probeRandom(HardwareID.self)
  try probeRandom(InstanceID.self)
  try probeRandom(ProofNonce.self)
  try expect(Digest(hashing: [1]) == Digest(hashing: [1].span))
}

func probeSecrets() throws {
  let filled = SecretBytes(count: 3) { span in span[1] = 2 }
  let copied = SecretBytes(copying: [0, 2, 0].span)
  let again = filled.withBytes { SecretBytes(copying: $0) }
  try expect(filled.count == 3 && filled.matches(copied) && filled.matches(again))
  try expect(!SecretBytes.random(count: 16).matches(.random(count: 16)))
}

func evidence(_ extra: [EvidenceRecord] = []) throws -> EvidenceSet {
  try EvidenceSet(
    [
      EvidenceRecord(SourceID(.device, 1), name: "machine", digest: Digest(hashing: [1])),
      EvidenceRecord(SourceID(.app, 1), name: Array("door".utf8), digest: Digest(hashing: [2])),
      EvidenceRecord(SourceID(.environment, 1), name: "tracer", digest: nil),
    ] + extra)
}

func probeEvidence() throws {
  let records = try evidence().records
  try expect(records[0].precedes(records[1]) && EvidenceClass.device < .app)
  try expect(records[0].source < records[1].source && records[2].source.description.count > 3)
  try expect(records[1].name.count == 4 && records[2].digest == nil)
  try expect(records[1].source.evidenceClass == .app && records[1].source.number == 1)
  try expect(EvidenceRecord.nameByteCountMax == 255 && EvidenceClass.allCases.count == 3)
  try expect(EvidenceClass(rawValue: 3) == .environment && EvidenceClass.app.rawValue == 2)
  try expect(try evidence().records(of: .device).count == 1)
  let name = EvidenceName(records[1])
  try expect(name.description == "app 1 \"door\"" && name.source == records[1].source)
  try expect(name.name == records[1].name)
}

struct BaselineProbe {
  let key: MeasurementProofKey
  let config: MeasurementConfig
  let measurement: Measurement
  let hardware: HardwareKeys
  let issuer: IssuerKey
  let instance: InstanceID
}

func probeMeasurement() throws -> BaselineProbe {
  let key = try MeasurementProofKey(.random(count: 16), mode: .production)
  try expect(MeasurementProofKey.byteCount == 16 && key.mode == .production)
  try expect(key.description.contains(key.id.description) && Mode.allCases.count == 2)
  try expect(Mode(rawValue: 2) == .development && Mode.production.rawValue == 1)
  let sources = try [
    Source(SourceID(.device, 1)), Source(SourceID(.app, 1), version: 2, groupsLog2: 3),
    Source(SourceID(.environment, 1)),
  ]
  try expect(sources[1].groupCount == 8 && sources[1].groupsLog2 == 3)
  try expect(sources[1].version == 2 && sources[1].id.number == 1)
  let draft = try BaselineDraft(
    salt: .random(), sources: sources, policy: .incremental, generation: 2, limitLog2: 20)
  try expect(draft.sources == sources && draft.policy == MeasurementPolicy(rawValue: 2))
  try expect(draft.generation == 2 && draft.limitLog2 == 20)
  try expect(MeasurementPolicy.allCases == [.full, .incremental, .trusting])

  var baseline = Baseline(draft, with: key)
  for record in try evidence().records { try baseline.update(record) }
  let folded = try baseline.finish()
  let config = try MeasurementConfig(baseline: evidence(), draft, with: key)
  try expect(try folded == config && MeasurementConfig(config.bytes) == config)
  try expect(config.mode == .production && config.policy.rawValue == 2 && config.generation == 2)
  try expect(config.keyID == key.id && config.salt == draft.salt && config.sources == sources)
  try expect(config.byteCountLimit == 1 << 20 && config.leafCount == 10)
  try expect(
    config.source(sources[1].id) == sources[1] && config.description.contains("generation"))
  try expect(try config.group(of: evidence().records[0]) == 0)
  try config.check(key)
  try expect(Set([config, folded]).count == 1)

  var fold = MeasurementFold(under: config, with: key)
  for record in try evidence().records { try fold.update(record) }
  let measurement = try fold.finish()
  try expect(Measurement.byteCount == 32 && measurement.description == "Measurement(secret)")
  try expect(measurement.customMirror.children.isEmpty && Measurement.Part.allCases.count == 3)
  for part in [Measurement.Part.integrity, .device, .deviceKey] {
    try expect(measurement.withBytes(of: part) { $0.byteCount } >= 16)
  }
  try expect(key.deviceKey(under: config.salt).count == 16)
  try probeDifference(config, key)

  let issuer = try IssuerKey(seed: .random(count: 32))
  let hardware = try HardwareKeys(
    id: .random(), secretKey: .random(count: 32), mode: .production, issuers: [issuer.publicKey],
    allowsLiteralTokens: true, challengeSeconds: 30)
  return BaselineProbe(
    key: key, config: config, measurement: measurement, hardware: hardware, issuer: issuer,
    instance: .random())
}

func probeDifference(_ config: MeasurementConfig, _ key: MeasurementProofKey) throws {
  try expect(try Difference(of: evidence(), under: config, with: key).isEmpty)
  let added = try EvidenceRecord(SourceID(.app, 1), name: "more", digest: nil)
  let more = try evidence([added])
  var fold = MeasurementFold(under: config, with: key, comparing: true)
  for record in more.records { try fold.update(record) }
  let difference = try fold.difference(among: more)
  try expect(difference.deviceComparable && difference.appComparable)
  try expect(difference.changes.count == 1 && difference.description.contains("more"))
  let change: Difference.Change = difference.changes[0]
  try expect(change.source == added.source && change.group >= 0 && !change.candidates.isEmpty)
}

func probeProofs(_ baseline: BaselineProbe) throws {
  let nonce = ProofNonce.random()
  let measurement = try Measurement(
    of: evidence(), under: baseline.config, with: baseline.key)
  let states = [
    ProofKeyState(integrity: baseline.key), ProofKeyState(device: baseline.measurement),
  ]
  for (state, kind) in zip(states, ProofKind.allCases) {
    let proof = state.proof(for: nonce, of: measurement)
    try expect(proof == baseline.measurement.proof(of: kind, for: nonce, with: baseline.key))
    try state.check(proof, for: nonce, of: measurement)
    try expect(state.kind == kind && ProofKind(rawValue: kind.rawValue) == kind)
    try expect(state.description.contains("secret") && state.customMirror.children.isEmpty)
  }
  let secrets = measurement.secrets(for: baseline.hardware.identity.id, with: baseline.key)
  let state = ProofKeyState(.device, secrets)
  let escort = nonce.escort(of: ProofKeyState(.integrity, secrets).proof(for: nonce, of: secrets))
  try state.check(state.proof(for: escort, of: secrets), for: escort, of: secrets)
  let other = try Measurement(
    integrity: .random(count: 32), device: .random(count: 32), deviceKey: .random(count: 16))
  try expect(other.proof(of: .device, for: nonce, with: baseline.key).bytes.count == 32)
  try expect(secrets.form == .diversified && secrets.description.contains("secret"))
  try expect(secrets.customMirror.children.isEmpty && TokenForm.allCases.count == 2)
  try expect(TokenForm(rawValue: TokenForm.literal.rawValue) == .literal)
  let kept = try HardwareSecrets(
    integrityKey: .random(count: 16), integrity: .random(count: 32), deviceKey: .random(count: 16),
    device: .random(count: 32), form: .literal)
  try expect(kept.form == .literal)
}

func probeTime() throws {
  let time = UnixTime(seconds: 5, nanoseconds: 500_000_000)
  try expect(time.seconds == 5 && time.nanoseconds == 500_000_000 && "\(time)" == "5.5")
  try expect(time > 5 && time < 6 && UnixTime(clamping: UInt64.max).seconds == .max)
  try expect(time.advanced(by: 2).distance(to: 9) == 2)
  try expect(UnixClock.fixed(time).now == time && UnixClock { 7 }.now == 7)
  try expect(UnixClock.system.now >= 1_700_000_000 && UnixTime.now >= 1_700_000_000)
}
