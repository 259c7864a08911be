// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The measurements to come of one app that was measured: of its next build, of its system's next state,
/// and of both.
struct Predictions {
  /// The reason why there is no pair.
  enum Obstacle: Sendable, Hashable, CustomStringConvertible {
    /// Records of these sources are asked for, change with each build, and were not registered.
    case records(of: [SourceID])
    /// The key of the SDK build in it is unknown or revoked.
    case key(KeyID)
    /// Nothing that is asked for differs in the registered environment.
    case nothingAsked
    /// The records cannot be measured.
    case refused(String)

    var description: String {
      switch self {
      case .records(let sources):
        "no records of \(sources.map { "\($0)" }.joined(separator: ", ")): register the build with "
          + "--records from a reference machine"
      case .key(let id): "the SDK key \(id) is unknown or revoked"
      case .nothingAsked: "no source of its records is asked for"
      case .refused(let reason): "its records cannot be measured: \(reason)"
      }
    }
  }

  struct Pair {
    let config: MeasurementConfig
    let measurement: Measurement
    let key: MeasurementProofKey
    let label: String
    /// Whether the pair is for this very app. An app that fails, or has no update, gets the pair of another
    /// build, so that it does not learn from the answer which it is.
    let isForApp: Bool
  }

  private(set) var pairs: [Pair] = []
  private(set) var obstacles: [Obstacle] = []

  /// The highest generation of a fetch whose present pair has this one.
  static func reserved(from base: UInt32) -> UInt32 {
    let (sum, overflow) = base.addingReportingOverflow(UInt32(UpcomingPair.countMax))
    return overflow || sum == .max ? base : sum
  }

  /// The reason why a registration is predicted for no app of the account; nil if it is.
  static func obstacle(of prediction: Prediction, under snapshot: Snapshot) -> Obstacle? {
    if let keyID = prediction.keyID, snapshot.builds[keyID]?.build.isRevoked ?? true {
      return .key(keyID)
    }
    let asked = Set(
      snapshot.builds.values.flatMap { snapshot.sources(for: .measurement, $0.build, withheld: []) }
        .map(\.id))
    let missing = prediction.missing(of: asked.sorted())
    return missing.isEmpty ? nil : .records(of: missing)
  }

  init(
    of report: AttestationReport, _ judgement: Judgement, under snapshot: Snapshot,
    _ terms: SaltTerms, with key: MeasurementProofKey, at now: UnixTime
  ) {
    let base = terms.generation
    guard Self.reserved(from: base) > base else { return }
    let upcoming = snapshot.registrations.values.filter { registration in
      registration.prediction != nil && (registration.expiry ?? .last) > now
    }.sorted { ($0.added, $0.key) > ($1.added, $1.key) }
    let builds = upcoming.filter { $0.prediction?.updates != nil && $0.digest != judgement.app }
    let own = builds.first { $0.prediction?.updates == judgement.app }
    let build = own ?? builds.first
    let environment = upcoming.first { $0.prediction?.updates == nil }
    let sources = terms.sources.map(\.id)

    var steps: [(offset: UInt32, registrations: [Registration])] = []
    if let build { steps.append((1, [build])) }
    if let environment { steps.append((2, [environment])) }
    if let build, let environment { steps.append((3, [build, environment])) }
    for (offset, registrations) in steps {
      let isForApp = build == nil || own != nil || offset == 2
      do throws(Failed) {
        pairs.append(
          try Self.pair(
            registrations, over: report.evidence, asking: sources, snapshot, terms, key,
            generation: base + offset, isForApp: isForApp))
      } catch {
        if !obstacles.contains(error.obstacle) { obstacles.append(error.obstacle) }
      }
    }
  }

  private struct Failed: Error { let obstacle: Obstacle }

  private static func pair(
    _ registrations: [Registration], over present: EvidenceSet, asking sources: [SourceID],
    _ snapshot: Snapshot, _ terms: SaltTerms, _ key: MeasurementProofKey, generation: UInt32,
    isForApp: Bool
  ) throws(Failed) -> Pair {
    var evidence = present
    var key = key
    var changes = false
    for registration in registrations {
      guard let prediction = registration.prediction else { continue }
      let missing = prediction.missing(of: sources)
      guard missing.isEmpty else { throw Failed(obstacle: .records(of: missing)) }
      if let keyID = prediction.keyID {
        guard let build = snapshot.builds[keyID], !build.build.isRevoked else {
          throw Failed(obstacle: .key(keyID))
        }
        key = build.key
      }
      let records = prediction.records.records.filter { sources.contains($0.source) }
      changes = changes || !records.isEmpty
      let whole = prediction.updates == nil ? [] : Prediction.files
      evidence = try measured { () throws(ProofError) in
        try evidence.replacing(with: records, whole: whole.intersection(records.map(\.source)))
      }
    }
    guard changes else { throw Failed(obstacle: .nothingAsked) }
    return try measured { () throws(ProofError) in
      let draft = try BaselineDraft(
        salt: Salt.random(), sources: terms.sources, policy: terms.policy, generation: generation,
        limitLog2: terms.limitLog2)
      let config = try MeasurementConfig(baseline: evidence, draft, with: key)
      return Pair(
        config: config, measurement: try Measurement(of: evidence, under: config, with: key),
        key: key, label: registrations.map(\.name).joined(separator: " + "), isForApp: isForApp)
    }
  }

  private static func measured<Value>(
    _ body: () throws(ProofError) -> Value
  ) throws(Failed) -> Value {
    do throws(ProofError) { return try body() } catch {
      throw Failed(obstacle: .refused(error.description))
    }
  }
}

extension AttestationReport {
  /// Whether the app takes pairs of measurements to come.
  var takesUpcoming: Bool {
    subject.properties.contains {
      $0.name == UpcomingPair.property.name && $0.value == UpcomingPair.property.value
    }
  }
}
