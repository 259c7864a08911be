// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

// A report's answer is kept, sealed, with the mark of its salt. An app whose connection broke sends
// the same report again and gets the same bytes, from any process that serves the account.

/// The end of one report: its salt is spent and its answer kept, in one transaction.
struct ReportSpending {
  let desk: ReportDesk
  /// The salt's end, as its MAC proves it.
  let expiry: UnixTime
  /// SHA-256 of the whole report.
  let digest: Digest

  private var service: AttestationService { desk.service }
  private var salt: Salt { desk.head.salt }
  private var device: InstanceID { desk.head.device }

  /// The answer to a report under a spent salt; nil if the salt is not spent. Spares the work of
  /// judging a replay.
  func earlier() throws(Refusal) -> ReportEnd? {
    try desk.mark.map { mark throws(Refusal) in try end(mark.outcome(for: digest), []) }
  }

  /// Spends the salt with no sighting.
  func unbelievable() -> ReportStep {
    if desk.isRecent { return .ended(.changed) }
    return spend(desk.answer(.unbelievable), for: nil) { [service, desk] in
      service.metrics.count(.unbelievable)
      desk.log("unbelievable", [])
    }
  }

  /// Spends the salt.
  ///
  /// - Parameters:
  ///   - answer: The answer to send if this call spends the salt.
  ///   - sighting: The report's facts about the device; nil if it is refused.
  ///   - noting: Called if this call spent the salt.
  /// - Returns: The wait for the store.
  func spend(
    _ answer: AttestationAnswer, for sighting: DeviceSighting?,
    noting: @escaping @Sendable () -> Void
  ) -> ReportStep {
    let bytes = answer.bytes(with: desk.key)
    let use = SaltUse(
      of: salt, by: device, expiring: expiry, at: desk.now.whole, report: digest,
      answer: service.account.vault.seal(bytes.span, for: place),
      revision: desk.snapshot.revision, sighting: sighting)
    return .waits(
      ReportWait(use, in: service.account.store) { outcome throws(Refusal) in
        let outcome = try service.stored { () throws(StoreError) in try outcome.get() }
        if outcome == .used {
          noting()
          service.sweep(under: desk.snapshot.policy, at: desk.now.whole)
        }
        return try end(outcome, bytes)
      })
  }

  private func end(_ outcome: SaltOutcome, _ bytes: [UInt8]) throws(Refusal) -> ReportEnd {
    switch outcome {
    case .used: return .sent(bytes)
    case .again(let sealed):
      service.metrics.count(.repeatedReports)
      do {
        let answer = try service.account.vault.open(sealed, for: place)
        return .sent(answer.withBytes { Array(copying: $0) })
      } catch {
        throw .unanswered("The kept answer to a report cannot be read. \(error)")
      }
    case .stale: return desk.stale()
    case .changed: return .changed
    }
  }

  /// Binds the sealed answer to its device and salt.
  private var place: String { "answer/\(device)/\(salt)" }
}

/// The wait for the store's outcome of a use, and the rest of the judgement.
struct ReportWait: Sendable {
  private let use: SaltUse
  private let store: any Store
  private let finish: @Sendable (Result<SaltOutcome, StoreError>) throws(Refusal) -> ReportEnd
  /// Written before the wait is woken.
  private let outcome = CoreLock<Result<SaltOutcome, StoreError>?>(nil)

  init(
    _ use: SaltUse, in store: any Store,
    _ finish: @escaping @Sendable (Result<SaltOutcome, StoreError>) throws(Refusal) -> ReportEnd
  ) {
    self.use = use
    self.store = store
    self.finish = finish
  }

  /// Begins the use. `wake` is called once, when the outcome is known.
  @Sendable func begin(_ wake: @escaping @Sendable () -> Void) {
    store.use(use) { [outcome] result in
      outcome.withLock { $0 = result }
      wake()
    }
  }

  /// The end of the judgement, after the wait.
  func end() throws(Refusal) -> ReportEnd {
    guard let outcome = outcome.withLock({ $0 }) else {
      throw .unanswered("The store told no outcome of a report.")
    }
    return try finish(outcome)
  }
}

extension AttestationService {
  /// Drops what has expired. The report that caused it is answered whether or not that succeeds.
  fileprivate func sweep(under policy: Policy, at now: UnixTime) {
    do {
      let dropped = try sweeper.sweep(account.store, under: policy, at: now, watch)
      metrics.count(.devicesDropped, by: dropped)
    } catch {
      metrics.count(.storeFailures)
    }
  }
}
