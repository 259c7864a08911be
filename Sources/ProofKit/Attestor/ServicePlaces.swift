// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// One address of the service during one fetch.
struct ServicePlace: Sendable, Hashable {
  let url: String
  let connectHost: String?

  init(_ url: String, connectHost: String? = nil) {
    self.url = url
    self.connectHost = connectHost
  }
}

/// Remembers addresses of the service that did not answer, so that a dead first address costs time
/// once in ``AttestorTimes/failover``, and not in each fetch.
final class ServicePlaces: Sendable {
  /// The most addresses remembered; more than one region has.
  private static let countMax = 8

  private let failures = CoreLock<[ServicePlace: Duration]>([:])

  /// The addresses in the order in which to try them: those that failed a short time ago come last.
  func ordered(_ places: [ServicePlace], at now: Duration) -> [ServicePlace] {
    guard places.count > 1 else { return places }
    let failures = failures.withLock { failures in
      failures = failures.filter { now - $0.value < AttestorTimes.failover }
      return failures
    }
    return places.filter { failures[$0] == nil } + places.filter { failures[$0] != nil }
  }

  /// Notes whether an address answered.
  func note(_ place: ServicePlace, hasAnswered: Bool, at now: Duration) {
    failures.withLock { failures in
      failures[place] = hasAnswered ? nil : now
      if failures.count > Self.countMax { failures = [place: now] }
    }
  }
}
