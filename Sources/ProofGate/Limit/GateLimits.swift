// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// The rate limits of a gate's routes.
///
/// Addresses, installations and accounts have tables of their own: a flood from many addresses touches no bucket of an
/// installation. An installation or an account gets a bucket only by a valid proof. The memory is bounded: 1 MiB for
/// 65,536 addresses, 4 MiB each for 262,144 installations and accounts. A table is made when the first rule has a limit
/// of its kind.
package final class GateLimits: Sendable {
  /// A limit that a request has exceeded.
  package struct Exceeded: Sendable, Hashable {
    /// The limit.
    package let limit: RouteLimit
    /// Whole seconds until a request counts again, at least 1.
    package let seconds: Int

    /// One sentence for the log.
    package var description: String {
      "The \(limit.subject.rawValue) has sent more than \(limit.count) requests a \(limit.unit.rawValue): it may go"
        + " on in \(seconds) s."
    }
  }

  /// How many names have a bucket at the same time.
  package struct Sizes: Sendable, Hashable {
    /// Addresses; a power of two.
    package var addresses = 65_536
    /// Installations; a power of two.
    package var instances = 262_144
    /// Accounts; a power of two.
    package var accounts = 262_144

    package init() {}
  }

  /// The name of a bucket.
  private struct Counted: Hashable {
    let rule: String
    let index: Int
    let name: String?
  }

  private let sizes: Sizes
  private let clock: @Sendable () -> UInt64
  private let tables = CoreLock<[RouteLimit.Subject: LimitTable]>([:])

  /// Makes limits without uses.
  ///
  /// - Parameters:
  ///   - sizes: The sizes of the tables.
  ///   - clock: Microseconds since any moment.
  package init(_ sizes: Sizes = Sizes(), clock: @escaping @Sendable () -> UInt64 = GateLimits.time)
  {
    self.sizes = sizes
    self.clock = clock
  }

  /// Microseconds since the system started. Setting the time of day does not change it.
  @Sendable package static func time() -> UInt64 {
    let (seconds, attoseconds) = (ContinuousClock.now - origin).components
    return UInt64(clamping: seconds) * 1_000_000 + UInt64(clamping: attoseconds / 1_000_000_000_000)
  }

  private static let origin = ContinuousClock.now

  /// Counts a request at the limits of a rule that count by one subject.
  ///
  /// - Parameters:
  ///   - subject: The subject.
  ///   - name: The address, the handle or the digest of the account; nil counts as one name of its own.
  ///   - limits: The limits of the rule.
  ///   - rule: The rule's name. Each rule has buckets of its own.
  /// - Returns: The first limit that the request exceeds, after which no other one counts it; nil for none.
  package func take(
    _ subject: RouteLimit.Subject, _ name: String?, _ limits: [RouteLimit], rule: String
  ) -> Exceeded? {
    for (index, limit) in limits.enumerated() where limit.subject == subject {
      let counted = subject == .address ? name.map(AddressPrefix.of) : name
      let name = HashedName(Counted(rule: rule, index: index, name: counted))
      if let wait = table(of: subject).wait(of: name, limit, at: clock()) {
        return Exceeded(limit: limit, seconds: Int(wait / 1_000_000) + 1)
      }
    }
    return nil
  }

  private func table(of subject: RouteLimit.Subject) -> LimitTable {
    tables.withLock { tables in
      if let table = tables[subject] { return table }
      let capacity =
        switch subject {
        case .address: sizes.addresses
        case .instance: sizes.instances
        case .account: sizes.accounts
        }
      let table = LimitTable(capacity: capacity)
      tables[subject] = table
      return table
    }
  }

  /// The bytes of the tables that were made.
  package var byteCount: Int { tables.withLock { $0.values.reduce(0) { $0 + $1.byteCount } } }

  /// How many buckets were given up before they were full, by subject: a sign of a flood from many names.
  package var forgotten: [RouteLimit.Subject: UInt64] {
    tables.withLock { tables in tables.mapValues(\.forgotten) }
  }
}
