// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Sources that apps are not asked to measure: for a whole account, or for one build of the SDK.
///
/// A challenge is given before the app is known. So a source can be left out of a measurement only
/// for all apps, or for those with one measurement proof key.
public struct LeftOutSources: Sendable, Hashable {
  /// The sources, in ascending order.
  public let all: [SourceID]

  /// An empty set: apps are asked for every source of PROBE.md.
  public static let none = LeftOutSources(sorted: [])

  private init(sorted: [SourceID]) { all = sorted }

  /// Reads sources as `CLASS/NUMBER` between commas, such as `3/4,3/8`, or `none`.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` for a source that no app is asked for,
  ///   for a source of the device id or of the app digest, and for all other device sources at
  ///   once.
  public init(parsing text: String) throws(ServiceError) {
    var sources: Set<SourceID> = []
    for (source, name) in try LeftOutEvidence.entries(of: text) {
      guard name == nil, !Self.needed.contains(source) else {
        throw LeftOutEvidence.refusal(text)
      }
      sources.insert(source)
    }
    // Two devices would look like one machine, and DM would cover only the storage secret.
    guard !Self.machine.isSubset(of: sources) else { throw LeftOutEvidence.refusal(text) }
    self.init(sorted: sources.sorted())
  }

  /// The union of both sets.
  func union(_ other: LeftOutSources) -> LeftOutSources {
    LeftOutSources(sorted: Set(all + other.all).sorted())
  }

  /// The text that ``init(parsing:)`` reads.
  public var text: String {
    all.isEmpty ? "none" : all.map(LeftOutEvidence.text).joined(separator: ",")
  }

  /// The sources of the device id (storage secret) and of the app digest (executable and bundle).
  private static let needed: Set<SourceID> = Set(
    SourcesAsked.all.map(\.id).filter { source in
      switch source.evidenceClass {
      case .device: source.number == InstanceID.secretSource
      case .app: source.number == 2 || source.number == 3
      case .environment: false
      }
    })

  private static let machine: Set<SourceID> = Set(
    SourcesAsked.all.map(\.id).filter { source in
      source.evidenceClass == .device && source.number != InstanceID.secretSource
    })
}

/// Evidence to ignore when the reports of one registered app are checked: whole sources, or single
/// records of a source whose records have a constant. It is still measured, and enters IM.
public struct LeftOutEvidence: Sendable, Hashable {
  private let sources: Set<SourceID>
  private let records: [SourceID: Set<String>]

  /// An empty set: all evidence counts.
  public static let none = LeftOutEvidence([])

  /// All records of these sources.
  init(_ left: LeftOutSources) { self.init(left.all.map { ($0, nil) }) }

  private init(_ entries: [(SourceID, String?)]) {
    var sources: Set<SourceID> = []
    var records: [SourceID: Set<String>] = [:]
    for (source, name) in entries {
      if let name { records[source, default: []].insert(name) } else { sources.insert(source) }
    }
    self.sources = sources
    self.records = records.filter { !sources.contains($0.key) }
  }

  /// Reads entries between commas, `CLASS/NUMBER` or `CLASS/NUMBER/RECORD`, such as
  /// `3/4/anonymous,3/4/writable`, or `none`.
  ///
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` for a source that no app is asked for, and for a
  ///   record that has no constant of “nothing special”.
  public init(parsing text: String) throws(ServiceError) {
    let entries = try Self.entries(of: text)
    for (source, name) in entries {
      guard let name else { continue }
      guard EvidenceReading.hasConstant(source, name) else { throw Self.refusal(text) }
    }
    self.init(entries)
  }

  /// The union of both sets.
  func union(_ other: LeftOutEvidence) -> LeftOutEvidence {
    LeftOutEvidence(entries + other.entries)
  }

  /// Whether to ignore a record.
  func contains(_ source: SourceID, _ name: ArraySlice<UInt8>) -> Bool {
    if self == .none { return false }
    return sources.contains(source)
      || records[source]?.contains { $0.utf8.elementsEqual(name) } ?? false
  }

  /// Whether to ignore the SDK's own finding about a source. A finding names several records in
  /// words for people, so if single records are left out, the other records' digests decide.
  func containsFinding(_ source: SourceID) -> Bool {
    sources.contains(source) || records[source] != nil
  }

  private var entries: [(SourceID, String?)] {
    sources.sorted().map { ($0, nil) }
      + records.sorted { $0.key < $1.key }.flatMap { source, names in
        names.sorted().map { (source, $0) }
      }
  }

  /// The text that ``init(parsing:)`` reads.
  public var text: String {
    let entries = entries
    return entries.isEmpty
      ? "none"
      : entries.map { Self.text($0) + ($1.map { "/\($0)" } ?? "") }.joined(separator: ",")
  }

  fileprivate static func text(_ source: SourceID) -> String {
    "\(source.evidenceClass.rawValue)/\(source.number)"
  }

  fileprivate static func entries(
    of text: String
  ) throws(ServiceError) -> [(SourceID, String?)] {
    if text == "none" { return [] }
    var entries: [(SourceID, String?)] = []
    // Refuse an empty entry, as for an empty list of properties.
    for entry in text.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
      guard (2...3).contains(parts.count),
        let asked = SourcesAsked.all.first(where: { Self.text($0.id) == "\(parts[0])/\(parts[1])" })
      else { throw refusal(text) }
      entries.append((asked.id, parts.count == 3 ? String(parts[2]) : nil))
    }
    return entries
  }

  fileprivate static func refusal(_ text: String) -> ServiceError {
    .invalid(
      "sources to leave out", value: String(text.prefix(80)),
      allowed: "none, or CLASS/NUMBER of PROBE.md between commas, such as 3/4,3/8: not 1/5, 2/2 "
        + "or 2/3, not 1/1 to 1/4 together; for one registration also CLASS/NUMBER/RECORD of sources 3/1 to 3/5 "
        + "and 3/7, such as 3/4/anonymous")
  }
}
