// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// An evidence collector that an ``Attestor`` can attest with: it also observes before there is a
/// measurement configuration.
public protocol EvidenceObserver: EvidenceCollector {
  /// Observes sources, now, on the calling thread.
  ///
  /// - Parameters:
  ///   - sources: The sources to observe, in order.
  ///   - policy: The way to measure.
  ///   - limitLog2: At most 2 to this power bytes of files are read, 16 to 50.
  ///   - cancellation: Ends it early.
  /// - Returns: At least one record for each source.
  /// - Throws: As ``EvidenceCollector/collect(for:)`` does.
  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation

  /// Lists the differences from a baseline, for people, on the calling thread. The default
  /// implementation cannot.
  ///
  /// - Parameter config: The baseline's configuration.
  /// - Returns: The differences.
  /// - Throws: As ``EvidenceCollector/collect(for:)`` does.
  func differences(from config: MeasurementConfig) throws(ProofError) -> Diagnosis

  /// Keeps what later lets ``differences(from:)`` name the entry of a bundle that changed, on the
  /// calling thread. The default implementation keeps nothing.
  ///
  /// - Parameter config: A configuration that was adopted just now.
  /// - Throws: As ``EvidenceCollector/collect(for:)`` does.
  func noteEntries(of config: MeasurementConfig) throws(ProofError)
}

extension EvidenceObserver {
  /// Fails: only a probe can.
  public func differences(from config: MeasurementConfig) throws(ProofError) -> Diagnosis {
    throw .evidenceUnavailable(reason: "this observer does not compare")
  }

  /// Keeps nothing.
  public func noteEntries(of config: MeasurementConfig) throws(ProofError) {}
}

/// The observations of one time.
public struct Observation: Sendable, Hashable {
  /// A record that is wrong whatever the baseline says.
  public struct Alarm: Sendable, Hashable {
    /// The record's source.
    public let source: SourceID
    /// The record's name.
    public let name: String
    /// The finding, in words.
    public let words: String

    /// Describes a finding.
    public init(_ source: SourceID, name: String, words: String) {
      self.source = source
      self.name = name
      self.words = words
    }
  }

  /// The records.
  public let evidence: EvidenceSet
  /// The findings that are wrong whatever the baseline says.
  public let alarms: [Alarm]

  /// Takes observations.
  public init(_ evidence: EvidenceSet, alarms: [Alarm] = []) {
    self.evidence = evidence
    self.alarms = alarms
  }
}

extension Observation {
  private static let textMax = AttestationWire.textMax

  /// The report's properties beside the evidence: the system, the app, how it was started, and one
  /// `finding.CLASS.NUMBER` for each source with a finding. Withheld facts have no property, and
  /// findings no words.
  func properties(
    appName: String, activity: Activity?, withholding mode: CollectionMode = []
  ) -> [AttestationReport.Property] {
    var texts: [(String, String)] = []
    if !mode.contains(.withoutBasicFacts) {
      let kernel = CoreSystem.kernel
      texts += [
        ("os", CoreSystem.operatingSystem()), ("kernel", kernel.release),
        ("architecture", kernel.machine), ("app", appName),
      ]
    }
    if let activity, !mode.contains(.withoutExtras) {
      texts += [("activity", activity.name), ("launch", activity.launch.rawValue)]
    }
    var properties = texts.map { AttestationReport.Property($0, Self.line($1)) }
    var findings: [SourceID: [String]] = [:]
    for alarm in alarms {
      findings[alarm.source, default: []].append(alarm.name + ": " + alarm.words)
    }
    for (source, texts) in findings.sorted(by: { $0.key < $1.key }) {
      let name = "finding.\(source.evidenceClass.rawValue).\(source.number)"
      let words = mode.contains(.withoutExtras) ? "withheld" : texts.joined(separator: "; ")
      properties.append(AttestationReport.Property(name, Self.line(words)))
    }
    return Array(properties.prefix(AttestationWire.propertiesMax))
  }

  /// Makes one line of printable text within the limit: names come from files and memory, and may
  /// hold any bytes.
  static func line(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      let shown: Unicode.Scalar = scalar.value < 0x20 || scalar.value == 0x7F ? "?" : scalar
      guard line.utf8.count + String(shown).utf8.count <= textMax else { break }
      line.unicodeScalars.append(shown)
    }
    return line
  }
}
