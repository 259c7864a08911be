// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The keys that one fresh measurement gave. The session holds them for as long as the gate's freshness says.
final class GateKeyring: Sendable {
  let keys: GateKeys
  let compact: CompactKeys
  /// The key of the standard form.
  /// When the measurement began, in uptime.
  let measured: Duration
  private let secret: GateSecret
  private let events = CoreLock<[AudienceID: CompactKeys]>([:])

  private init(_ secret: GateSecret, measured: Duration) {
    self.secret = secret
    self.measured = measured
    keys = secret.keys
    compact = keys.compact
  }

  /// The keys of an audience's events.
  func events(for audience: AudienceID) -> CompactKeys {
    events.withLock { known in
      if let keys = known[audience] { return keys }
      let keys = secret.eventKeys(for: audience)
      known[audience] = keys
      return keys
    }
  }

  /// Measures the app and derives the keys.
  ///
  /// - Parameters:
  ///   - admitted: The admission, and the name that the attested app has under it.
  ///   - surroundings: The observer, the key of the SDK build, and the clock.
  /// - Returns: The keys.
  /// - Throws: ``GateError/environmentChanged`` if the measurement is another than the attested one, or the
  ///   environment changed while it was made; ``GateError/notMeasured(reason:)``.
  static func derive(
    for admitted: Admitted, in surroundings: AttestationExchange.Surroundings
  ) throws(GateError) -> GateKeyring {
    let measured = surroundings.clock.uptime()
    do throws(ProofError) {
      try admitted.config.check(surroundings.key)
      return try derive(admitted, surroundings.observer, surroundings.key, measured)
    } catch {
      switch error {
      case .configForOtherKey, .differs, .evidenceWithheld: throw .environmentChanged
      default: throw .notMeasured(reason: "\(error)")
      }
    }
  }

  private static func derive(
    _ admitted: Admitted, _ collector: some EvidenceCollector, _ key: MeasurementProofKey,
    _ measured: Duration
  ) throws(ProofError) -> GateKeyring {
    try collector.guarding { () throws(ProofError) in
      let measurement = try collector.measurement(under: admitted.config, with: key)
      let secret = try GateSecret(
        of: measurement, for: admitted.admission.gate, instance: admitted.instance,
        generation: admitted.admission.generation, with: key)
      let keyring = GateKeyring(secret, measured: measured)
      // No gate sees this proof. It carries the last look at the environment, which changes it.
      let made = measurement.proof(of: .integrity, for: ProofNonce.random(), with: key)
      var released = made
      try collector.release(&released, after: nil)
      guard released == made, keyring.keys.handle == admitted.handle else {
        throw .differs("measurement")
      }
      return keyring
    }
  }
}
