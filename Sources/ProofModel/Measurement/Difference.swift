// SPDX-License-Identifier: Apache-2.0

/// A difference from the baseline, found without the baseline's digests.
///
/// The configuration keeps four blinded bytes for each group of records. So a difference names the
/// source and the group, and the names in the evidence that fall into that group. One of these
/// changed or was added, or a record that would fall there was removed.
public struct Difference: Sendable, Hashable {
  /// One group of records that is not the baseline's.
  public struct Change: Sendable, Hashable {
    /// The source.
    public let source: SourceID
    /// The index of the group among the source's groups, from 0.
    public let group: Int
    /// The names that are in the group now, in order. Empty if the group has no records any more.
    public let candidates: [EvidenceName]
  }

  /// Whether device sources could be compared: the key is the one the baseline was made with.
  public let deviceComparable: Bool
  /// Whether app and environment sources could be compared: the device is the baseline's.
  public let appComparable: Bool
  /// The groups that differ, in order, of those that could be compared.
  public let changes: [Change]

  /// Whether everything could be compared and nothing differs.
  public var isEmpty: Bool { deviceComparable && appComparable && changes.isEmpty }

  /// Measures, and finds the differences from the baseline.
  ///
  /// - Parameters:
  ///   - evidence: The app's evidence now.
  ///   - config: The baseline's configuration.
  ///   - key: This build's key.
  /// - Throws: ``ProofError/evidenceNotAskedFor(_:)``, ``ProofError/evidenceMissing(_:)``.
  public init(
    of evidence: EvidenceSet, under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) {
    var fold = MeasurementFold(under: config, with: key, comparing: true)
    for record in evidence.records { try fold.update(record) }
    self = try fold.difference(among: evidence)
  }

  init(deviceComparable: Bool, appComparable: Bool, changes: [Change]) {
    self.deviceComparable = deviceComparable
    self.appComparable = appComparable
    self.changes = changes
  }
}

extension Difference: CustomStringConvertible {
  /// One line for each change.
  public var description: String {
    var lines = changes.map { change in
      let names = change.candidates.map(\.description).joined(separator: ", ")
      return "source \(change.source), group \(change.group): "
        + (names.isEmpty ? "all records are gone" : "among \(names)")
    }
    if !deviceComparable { lines.append("device sources cannot be compared: another key") }
    if !appComparable { lines.append("app and environment cannot be compared: another device") }
    return lines.isEmpty ? "nothing differs" : lines.joined(separator: "\n")
  }
}
