// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The differences from the baseline, source by source, in words and as values.
///
/// Show it to people only. An app must not decide anything by it, because an attacker who controls
/// the process can patch such a decision. The verifier decides, by the measurement.
public struct Diagnosis: Sendable, Hashable {
  /// One difference.
  public struct Finding: Sendable, Hashable {
    /// The way a record differs.
    public enum Kind: UInt8, Sendable {
      /// It differs from the baseline's.
      case changed = 1
      /// It differs from the baseline's, and is wrong whatever the baseline says.
      case suspicious = 2
      /// It cannot be read now.
      case absent = 3
      /// It does not exist any more.
      case gone = 4
    }

    /// The source.
    public let source: SourceID
    /// The source's name, for people.
    public let sourceName: String
    /// The way the record differs.
    public let kind: Kind
    /// Whether this record differs; otherwise it is one of several of which at least one does.
    public let isCertain: Bool
    /// The record's name: a library, a variable, a path of the bundle. Empty if it is gone.
    public let name: [UInt8]
    /// One line, such as "libfoo.so.2: code differs".
    public let text: String
  }

  /// Whether anything could be compared, because the configuration was made for this build of the
  /// SDK.
  public let isOfThisBuild: Bool
  /// Whether app and environment could be compared, because the configuration was made on this
  /// device.
  public let isOfThisDevice: Bool
  /// The differences, in the order of their sources.
  public let findings: [Finding]
  /// The number of further differences that are not listed.
  public let leftOutCount: Int
}

extension Diagnosis: CustomStringConvertible {
  /// One line for each difference.
  public var description: String {
    var lines = findings.map(\.text)
    if leftOutCount > 0 { lines.append("and \(leftOutCount) more") }
    if !isOfThisBuild { lines.append("configuration of another SDK build: nothing to compare") }
    if isOfThisBuild && !isOfThisDevice {
      lines.append("configuration of another device: app and environment cannot be compared")
    }
    return lines.isEmpty ? "nothing differs" : lines.joined(separator: "\n")
  }
}
