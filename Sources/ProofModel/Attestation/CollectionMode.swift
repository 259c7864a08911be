// SPDX-License-Identifier: Apache-2.0

/// The facts that an app withholds from its reports and measurements, for the privacy of its users.
///
/// Modes combine. An app has one mode from its start on. The sources that it withholds do not stand
/// in the configuration that an enrolment makes, so measurements stay the same under it. The report
/// says what is withheld, and the account's policy decides what that is worth.
public struct CollectionMode: OptionSet, Sendable, Hashable {
  /// The bits, as they stand in a report.
  public let rawValue: UInt8

  /// The mode of these bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Withholds names, versions and the hardware's model: the processor, os-release, the kernel and
  /// its architecture, the executable's name.
  public static let withoutBasicFacts = CollectionMode(rawValue: 1)
  /// Withholds what identifies one machine: machine id, serials of the board, the id of the root file
  /// system, the certificate of a TPM. The service then cannot tell a copy of the app's storage on
  /// another machine.
  public static let withoutUniqueIdentifiers = CollectionMode(rawValue: 2)
  /// Withholds details for people: the words of findings, the activity, who started the app. That
  /// there is a finding is still reported.
  public static let withoutExtras = CollectionMode(rawValue: 4)
  /// Withholds all three: for a user who has not consented.
  public static let notGranted: CollectionMode = [
    .withoutBasicFacts, .withoutUniqueIdentifiers, .withoutExtras,
  ]

  /// Whether a source is withheld.
  ///
  /// - Parameter source: A source of evidence, of docs/PROBE.md.
  /// - Returns: Whether an app of this mode collects it under no configuration.
  public func withholds(_ source: SourceID) -> Bool {
    switch (source.evidenceClass, source.number) {
    case (.device, 2), (.environment, 8), (.environment, 9): contains(.withoutBasicFacts)
    case (.device, 1), (.device, 3), (.device, 4): contains(.withoutUniqueIdentifiers)
    default: false
    }
  }

  /// The modes by the names of what they withhold, in the order of their bits.
  package static let names: [(name: String, mode: CollectionMode)] = [
    ("basic", .withoutBasicFacts), ("unique", .withoutUniqueIdentifiers),
    ("extra", .withoutExtras),
  ]

  /// The names of what is withheld between commas, or `none`.
  package var text: String {
    let names = Self.names.filter { contains($0.mode) }.map(\.name)
    return names.isEmpty ? "none" : names.joined(separator: ",")
  }
}

extension CollectionMode: CustomStringConvertible {
  /// The names of the withheld facts, in words.
  public var description: String { "withholds \(text)" }
}
