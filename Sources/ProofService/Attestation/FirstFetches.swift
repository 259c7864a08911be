// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
internal import ProofJOSE
internal import ProofModel

// The first report of a device makes a row in the store. An attacker who has the key of one SDK
// build can invent devices. So an account has a budget for first reports, and each build an alarm.

/// Counts devices that are seen for the first time.
final class FirstFetches: Sendable {
  /// The count of one build in one hour.
  private struct Hour {
    var start: UnixTime
    var count = 0
  }

  private struct State {
    var hours: [KeyID: Hour] = [:]
    var totals: [KeyID: Int] = [:]
  }

  /// One address gets at most this fraction of the account's budget.
  static let addressPart = 10

  private let account = RateLimiter(per: 3_600, burst: 3_600)
  private let addresses = RateLimiter(per: 3_600, burst: 3_600)
  private let state = CoreLock(State())

  /// The seconds until an address may make a first fetch; nil for now.
  ///
  /// - Parameters:
  ///   - network: The network that counts as one address.
  ///   - rate: The account's budget an hour; 0 for no limit.
  ///   - now: The time.
  ///   - isTaken: Whether to count a first fetch; otherwise the budget is only read.
  /// - Returns: The seconds to wait, or nil.
  func wait(for network: [UInt8], rate: Int, at now: UnixTime, isTaken: Bool) -> Int? {
    guard rate > 0 else { return nil }
    // Round up, so that an address has at least one.
    let part = (rate - 1) / Self.addressPart + 1
    if let wait = addresses.wait(of: network, rate: part, at: now, isTaken: isTaken) { return wait }
    return account.wait(of: [], rate: rate, at: now, isTaken: isTaken)
  }

  /// Counts a first fetch of a build.
  ///
  /// - Returns: Whether it is the one that reaches the alarm in this hour.
  func count(_ build: KeyID, alarm: Int, at now: UnixTime) -> Bool {
    state.withLock { state in
      state.totals[build, default: 0] += 1
      var hour = state.hours[build] ?? Hour(start: now)
      // If the clock was set back, another hour begins.
      if now - hour.start >= 3_600 || now < hour.start { hour = Hour(start: now) }
      hour.count += 1
      state.hours[build] = hour
      return alarm > 0 && hour.count == alarm
    }
  }

  /// The counts of each build, in the text format of Prometheus.
  var text: String {
    let totals = state.withLock { $0.totals }
    guard !totals.isEmpty else { return "" }
    let name = "proof_service_first_fetches_of_build_total"
    return "# TYPE \(name) counter\n"
      + totals.map { "\(name){build=\"\($0.key)\"} \($0.value)\n" }.sorted().joined()
  }
}

extension AttestationService {
  /// Refuses a device's first report before it is read, if the budget is spent.
  func checkFirstFetch(
    of build: SDKBuild, from peer: String, under policy: Policy
  ) throws(Refusal) {
    try firstFetch(from: peer, policy, isTaken: false)
  }

  /// Counts a device's first report, once it is authenticated.
  func takeFirstFetch(of build: SDKBuild, from peer: String, _ policy: Policy) throws(Refusal) {
    try firstFetch(from: peer, policy, isTaken: true)
    metrics.count(.firstFetches)
    if firstFetches.count(build.id, alarm: policy.firstFetchAlarm, at: clock.now) {
      metrics.count(.firstFetchAlarms)
      log(
        Event(
          name: "first fetches",
          details: [
            ("build", build.id.description), ("within an hour", "\(policy.firstFetchAlarm)"),
          ]))
    }
  }

  private func firstFetch(
    from peer: String, _ policy: Policy, isTaken: Bool
  ) throws(Refusal) {
    let wait = firstFetches.wait(
      for: Array(IPAddress.network(of: peer).utf8), rate: policy.firstFetchRate, at: clock.now,
      isTaken: isTaken)
    guard let wait else { return }
    metrics.count(.firstFetchesRefused)
    throw .tooMany(retryAfter: wait)
  }
}
