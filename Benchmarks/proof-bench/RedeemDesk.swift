// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofBench
import ProofJOSE
import ProofModel

/// A redeemer that knows one app, and event tokens of that app: each is new, so that each counts. The account's rules
/// and the counts are part of it; the store is in memory.
final class RedeemDesk {
  private static let account = "user-4711"
  private static let data = Array("order 17".utf8)

  private let redeemer: EventVerifier
  private let keys: CompactKeys
  private let subject: CompactSubject
  private let beacon: Beacon
  private var count: UInt32 = 0

  init(_ sample: Sample) throws {
    let (id, audience) = (GateID.random(), AudienceID.random())
    let now = RequestSample.now
    let accountKey = try GateAccountKey(.random(count: 32), number: 1)
    let beacons = try BeaconKey(from: .random(count: 32), number: 1, of: id)
    // The redeemer has been up for longer than its window: one with an empty store refuses until then.
    let isUp = CoreLock(false)
    var settings = EventVerifier.Settings()
    settings.clock = UnixClock {
      RequestSample.now - (isUp.withLock { $0 } ? 0 : 600)
    }
    redeemer = try EventVerifier(
      for: audience, name: "shop", beacons: beacons, accountKeys: [accountKey],
      replay: MemoryReplayStore(capacity: 10_000_000), settings: settings)
    isUp.withLock { $0 = true }
    let secret = try GateSecret(
      of: sample.measurement, for: id, instance: sample.instance, generation: 1, with: sample.key)
    redeemer.admit(
      GateGrant(
        for: id, instance: sample.instance, mode: .production, issued: now, notAfter: now + 3600,
        firstSeen: now - 86_400, secret: secret))
    keys = secret.eventKeys(for: audience)
    subject = .event(
      data: Digest(hashing: Self.data), account: try accountKey.digest(of: Self.account))
    beacon = try Beacon(header: beacons.header(at: now))
  }

  func candidate(_ name: String) -> Candidate {
    Candidate(name: name, count: 100) { count in
      let tokens = try (0..<count).map { _ in try self.token() }
      let start = ContinuousClock.now
      for token in tokens { try self.redeem(token) }
      return ContinuousClock.now - start
    }
  }

  private func token() throws -> String {
    count += 1
    return try CompactDraft(
      created: RequestSample.now, start: 1, count: count, measured: 0, event: 3300,
      accountKey: 1, beacon: beacon
    ).text(for: subject, with: keys)
  }

  private func redeem(_ token: String) throws {
    let judgement = redeemer.judge(
      .init(token, event: 3300, account: Self.account, data: Self.data, address: "192.0.2.1"))
    guard judgement.counts != nil else { throw PeerError("the event: \(judgement)") }
  }
}
