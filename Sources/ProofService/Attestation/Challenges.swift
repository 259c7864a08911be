// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
internal import ProofJOSE
internal import ProofModel

// The first half: a question is answered by a challenge.

extension AttestationService {
  func challenge(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    let question: AttestationQuestion
    do {
      question = try AttestationQuestion(request.body)
    } catch {
      throw .malformed(error.description)
    }
    let (snapshot, seen) = try glance(at: question.device)
    let known = seen.device
    let now = clock.now
    try limitAddress(request, snapshot)
    try requireRightClock()
    guard question.account == account.name else { throw .unknownAccount }
    guard let build = snapshot.builds[question.keyID], !build.build.isRevoked else {
      throw .unknownKey
    }
    // A question is not authenticated, so count a device's questions for each network: otherwise an
    // attacker elsewhere who knows a device's id could use up its rate.
    let wait = devices.wait(
      of: question.device.bytes + Array(IPAddress.network(of: request.peer).utf8),
      rate: snapshot.policy.deviceRate, at: now)
    if let wait { throw .tooMany(retryAfter: wait) }

    let asker = SaltTerms.Asker(
      keyID: question.keyID, device: question.device, purpose: question.purpose,
      gate: snapshot.gate(of: question.purpose, at: question.host))
    // One device cannot reach 2^32 measurements; the highest number is not a generation.
    let generation = min(try highestGeneration(of: asker, known), .max - 2) + 1
    let policy = snapshot.policy
    let terms = SaltTerms(
      asker, expiry: now.whole + policy.saltLifetime, generation: generation,
      policy: policy.measurement, limitLog2: UInt8(policy.limitLog2), withheld: question.withheld,
      sources: snapshot.sources(
        for: question.purpose, build.build, withheld: question.withheld))
    let salt = terms.salt(snapshot.saltKeys, account: account.name, noise: noise)
    let draft: BaselineDraft
    do { draft = try terms.draft(salt) } catch {
      preconditionFailure("The policy's settings are in range. \(error)")
    }
    let challenge = AttestationChallenge(
      draft, lifetime: UInt16(policy.saltLifetime), configSerial: snapshot.configuration.serial,
      key: keyDemand(of: question, known, policy, salt, snapshot.saltKeys.active, at: now.whole))
    if let known { recentDevices.keep(known) }
    metrics.count(.challenges)
    return Self.binary(challenge.bytes)
  }

  /// The highest generation of an asker's line. A device that was dropped must not begin again below
  /// what backends and gates know of it.
  func highestGeneration(
    of asker: SaltTerms.Asker, _ known: DeviceRow?
  ) throws(Refusal) -> UInt32 {
    if let gate = asker.gate {
      return try store { (store) throws(StoreError) in
        if let line = try store.generation(of: asker.device, at: gate) { return line }
        return try store.gateGenerationFloor()
      }
    }
    if let known { return known.generation }
    return try store { (store) throws(StoreError) in try store.generationFloor() }
  }
}

extension Snapshot {
  /// The gate that an app wants to be admitted to; nil for another purpose, and for an API without gate: the answer
  /// to the report says so.
  func gate(of purpose: AttestationPurpose, at host: String) -> GateID? {
    guard purpose == .gate else { return nil }
    return apis[host.lowercased()]?.gate.flatMap { gates[$0] }?.gate.id
  }

  /// The sources that apps with a build's key are asked for.
  func sources(
    for purpose: AttestationPurpose, _ build: SDKBuild, withheld: CollectionMode
  ) -> [Source] {
    SourcesAsked.sources(for: purpose, without: leftOut(of: build), withheld: withheld)
  }
}

/// Drops marks of salts, at most once in ten seconds, and devices not seen for long, at most once a
/// minute, so that the store does not grow.
final class Sweeper: Sendable {
  private let marks = DueTime(every: 10)
  private let devices = DueTime(every: 60)

  /// The most devices dropped at once, because a request waits for it.
  static let devicesMax = 1_000
  /// Seconds for which a mark is kept after its salt's end.
  static let markMargin: Int64 = 120

  /// - Returns: The number of devices that were dropped.
  func sweep(
    _ store: any Store, under policy: Policy, at own: UnixTime, _ watch: ClockWatch
  ) throws(StoreError) -> Int {
    let dropsMarks = marks.isDue(at: own)
    let dropsDevices = policy.deviceRetention > 0 && devices.isDue(at: own)
    guard dropsMarks || dropsDevices else { return 0 }
    let shared = try watch.sharedTime(of: store, at: own)
    let now = min(own, shared ?? own)
    if dropsMarks { try store.dropMarks(expiredBefore: now - Self.markMargin) }
    guard dropsDevices else { return 0 }
    // Keep the rows that reveal a clone at least for the clone window.
    let seconds = max(Int64(policy.deviceRetention) * 86_400, Int64(policy.cloneWindow))
    return try store.dropDevices(lastSeenBefore: now - seconds, atMost: Self.devicesMax)
  }
}
