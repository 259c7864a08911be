// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The counters of the service since it started.
public final class ServiceMetrics: Sendable {
  /// An event that is counted.
  public enum Event: Int, Sendable, CaseIterable {
    /// Challenges sent.
    case challenges
    /// Reports authenticated, and passed.
    case passed
    /// Reports authenticated, and failed.
    case failed
    /// Admissions to gates for apps that passed.
    case admissions
    /// Admissions to gates for apps that failed. The apps cannot tell.
    case admissionsFailed
    /// Requests for an admission to an API that is unknown or has no gate.
    case admissionsRefused
    /// Reports that were read whole, after their heads passed.
    case parsed
    /// First reports of devices that were not seen before.
    case firstFetches
    /// First reports beyond the account's budget.
    case firstFetchesRefused
    /// Builds of the SDK with more first reports in an hour than the alarm allows.
    case firstFetchAlarms
    /// Devices dropped because they were not seen for long.
    case devicesDropped
    /// Reports under an unknown, used or expired salt.
    case staleReports
    /// Those of them whose salt no key of the account made for their sender, or for other terms.
    case unknownSalts
    /// Reports that came again and got their first answer again.
    case repeatedReports
    /// Certificates of TPMs that no authority vouches for.
    case endorsementsRefused
    /// Reports that were inconsistent.
    case unbelievable
    /// Requests that did not parse.
    case malformed
    /// Requests of unknown accounts or keys.
    case unknown
    /// Requests beyond a rate.
    case limited
    /// Requests that failed because of the store.
    case storeFailures
    /// Configurations sent.
    case configurations
    /// Management requests.
    case management
    /// Management requests without the right token.
    case managementRefused
  }

  private let counts = CoreLock([Int](repeating: 0, count: Event.allCases.count))

  /// Makes counters that are all 0.
  public init() {}

  func count(_ event: Event, by count: Int = 1) {
    counts.withLock { $0[event.rawValue] += count }
  }

  /// The count of an event.
  public subscript(event: Event) -> Int { counts.withLock { $0[event.rawValue] } }

  /// All counts in the text format of Prometheus.
  public var text: String {
    let counts = counts.withLock { $0 }
    return Event.allCases.map { event in
      let name = "proof_service_\(event.metricName)_total"
      return "# TYPE \(name) counter\n\(name) \(counts[event.rawValue])\n"
    }.joined()
  }
}

extension ServiceMetrics.Event {
  var metricName: String {
    switch self {
    case .challenges: "challenges"
    case .passed: "reports_passed"
    case .failed: "reports_failed"
    case .admissions: "admissions_passed"
    case .admissionsFailed: "admissions_failed"
    case .admissionsRefused: "admissions_refused"
    case .parsed: "reports_parsed"
    case .firstFetches: "first_fetches"
    case .firstFetchesRefused: "first_fetches_refused"
    case .firstFetchAlarms: "first_fetch_alarms"
    case .devicesDropped: "devices_dropped"
    case .endorsementsRefused: "endorsements_refused"
    case .staleReports: "reports_stale"
    case .unknownSalts: "salts_unknown"
    case .repeatedReports: "reports_repeated"
    case .unbelievable: "reports_unbelievable"
    case .malformed: "requests_malformed"
    case .unknown: "requests_unknown"
    case .limited: "requests_limited"
    case .storeFailures: "store_failures"
    case .configurations: "configurations"
    case .management: "management_requests"
    case .managementRefused: "management_refused"
    }
  }
}
