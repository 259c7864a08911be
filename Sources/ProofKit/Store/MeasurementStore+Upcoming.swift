// SPDX-License-Identifier: Apache-2.0

package import ProofModel

// Pairs for measurements to come stand in files of their own beside the present pair, so that an SDK
// that does not know them ignores them.

extension MeasurementStore {
  /// The files of pairs to come, in the order of generations.
  static let upcomingNames = (1...UpcomingPair.countMax).map { "\(fileName).up\($0)" }

  /// Stores the pairs of a fetch: the present one, and those for measurements to come.
  ///
  /// A power cut leaves the older present pair or the new one. Pairs to come are of use with either.
  ///
  /// - Parameters:
  ///   - tokens: The tokens of each piece of hardware.
  ///   - config: The present pair's configuration.
  ///   - instance: The installation that was measured.
  ///   - pairs: The pairs to come.
  /// - Throws: As ``StoredMeasurement/init(_:tokens:)`` and ``save(_:)``.
  package func save(
    _ tokens: [HardwareTokens], under config: MeasurementConfig, of instance: InstanceID,
    with pairs: [UpcomingPair]
  ) throws(MeasurementStoreError) {
    let stored = try StoredMeasurement.pairs(config, of: instance, with: pairs, tokens)
    try write(upcoming: stored.upcoming)
    try save(stored.present)
  }

  /// Each piece of hardware with its first pair, in the order of the hardware's id: the present one, or one
  /// that a lock has accepted since.
  ///
  /// - Throws: As ``load()``.
  package func paired() throws(MeasurementStoreError) -> [PairedHardware] {
    guard let present = try load() else { return [] }
    var found: [PairedHardware] = []
    for pair in [present] + (try upcoming()) {
      for token in pair.tokens where !found.contains(where: { $0.id == token.hardware }) {
        found.append(PairedHardware(token, of: pair.instance, under: pair.config))
      }
    }
    return found.sorted { "\($0.id)" < "\($1.id)" }
  }

  /// Removes every token of a piece of hardware, also those for measurements to come.
  ///
  /// - Throws: As ``removeToken(for:)``.
  package func remove(_ hardware: HardwareID) throws(MeasurementStoreError) {
    let kept = try upcoming().map { $0.removing(hardware) }
    try write(upcoming: kept.filter { !$0.tokens.isEmpty })
    try removeToken(for: hardware)
  }

  /// Removes the pairs to come.
  func eraseUpcoming() throws(MeasurementStoreError) { try write(upcoming: []) }

  /// The pairs for measurements to come, in the order of their generations. A damaged one counts as none,
  /// because the present pair stays.
  ///
  /// - Throws: ``MeasurementStoreError/failed(path:reason:)``.
  package func upcoming() throws(MeasurementStoreError) -> [StoredMeasurement] {
    guard let present = try load() else { return [] }
    var pairs: [StoredMeasurement] = []
    for name in Self.upcomingNames {
      guard let bytes = try file(name), let pair = try? StoredMeasurement(parsing: bytes),
        pair.instance == present.instance, pair.generation > present.generation
      else { continue }
      pairs.append(pair)
    }
    return pairs.sorted { $0.generation < $1.generation }
  }

  /// Loads the pair that this app fits: the present one, or one for a measurement to come.
  ///
  /// The app is observed once. Its records are compared with each pair's configuration; the first pair
  /// without a difference is the one. The choice protects nothing: the hardware verifies the measurement.
  ///
  /// - Parameters:
  ///   - id: The hardware.
  ///   - collector: Observes the app.
  ///   - key: This build's key, unless a test has its own.
  /// - Returns: The pair that fits, or the present one if none does; and the present pair, under which an
  ///   earlier command may have to be asked about, if another was chosen.
  /// - Throws: ``MeasurementStoreError/notPaired(_:)``, and the errors of ``load()``.
  package func hardware(
    _ id: HardwareID, fitting collector: some EvidenceCollector, key: MeasurementProofKey = .sdk
  ) throws(MeasurementStoreError) -> (chosen: PairedHardware, before: PairedHardware?) {
    let pairs = try candidates(for: id)
    guard let present = pairs.first else { throw .notPaired(id) }
    guard pairs.count > 1, let evidence = try? collector.collect(for: present.config) else {
      return (present, nil)
    }
    let fitting = pairs.first { pair in
      guard (try? pair.config.check(key)) != nil else { return false }
      return (try? Difference(of: evidence, under: pair.config, with: key))?.isEmpty == true
    }
    guard let fitting, fitting != present else { return (present, nil) }
    return (fitting, present)
  }

  /// Deletes a lock's older tokens, after its receipt for a command under a newer generation.
  ///
  /// - Parameter hardware: The hardware that accepted the command, and the pair under which it did.
  /// - Throws: As ``save(_:)``.
  package func noteAccepted(by hardware: PairedHardware) throws(MeasurementStoreError) {
    guard let present = try load(), hardware.generation > present.generation else { return }
    let later = try upcoming()
    let kept = later.map { pair in
      pair.generation < hardware.generation ? pair.removing(hardware.id) : pair
    }.filter { !$0.tokens.isEmpty }
    let old = present.removing(hardware.id)
    if old.tokens.isEmpty, let next = kept.first {
      // The last lock has gone on: the next pair is the present one now.
      try save(next)
      try write(upcoming: Array(kept.dropFirst()))
    } else {
      try write(upcoming: kept)
      try removeToken(for: hardware.id)
    }
  }

  private func candidates(
    for id: HardwareID
  ) throws(MeasurementStoreError) -> [PairedHardware] {
    guard let present = try load() else { throw .notPaired(id) }
    return ([present] + (try upcoming())).compactMap { pair in
      pair.token(for: id).map { PairedHardware($0, of: pair.instance, under: pair.config) }
    }
  }

  private func write(upcoming pairs: [StoredMeasurement]) throws(MeasurementStoreError) {
    for (index, name) in Self.upcomingNames.enumerated() {
      try replace(name, with: index < pairs.count ? pairs[index].bytes : nil)
    }
  }
}
