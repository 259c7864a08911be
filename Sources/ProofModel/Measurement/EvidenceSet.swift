// SPDX-License-Identifier: Apache-2.0

/// Everything that was observed at one time, in the one canonical order.
///
/// Equal observations give equal sets, in whatever order the collector finds them.
public struct EvidenceSet: Sendable, Hashable {
  /// The records, strictly increasing.
  public let records: [EvidenceRecord]

  /// Sorts and checks observations.
  ///
  /// - Parameter records: In any order; at most one for each source and name.
  /// - Throws: ``ProofError/evidenceRepeated(_:)``.
  public init(_ records: some Sequence<EvidenceRecord>) throws(ProofError) {
    let sorted = records.sorted { $0.precedes($1) }
    if let place = Self.disorder(in: sorted) {
      throw .evidenceRepeated(EvidenceName(sorted[place]))
    }
    self.records = sorted
  }

  /// Takes observations that must be in order already; nil if they are not.
  init?(ordered records: [EvidenceRecord]) {
    guard Self.disorder(in: records) == nil else { return nil }
    self.records = records
  }

  /// The first place whose record does not stand after the one before it.
  private static func disorder(in records: [EvidenceRecord]) -> Int? {
    let records = records.span
    for place in records.indices.dropFirst() where !records[place - 1].precedes(records[place]) {
      return place
    }
    return nil
  }

  /// The records of one class, in order.
  public func records(of evidenceClass: EvidenceClass) -> [EvidenceRecord] {
    records.filter { $0.source.evidenceClass == evidenceClass }
  }
}

/// The name of a record: its source and its item, never its digest.
public struct EvidenceName: Sendable, Hashable, CustomStringConvertible {
  /// The source.
  public let source: SourceID
  /// The observed item within the source.
  public let name: [UInt8]

  /// The name of a record.
  public init(_ record: EvidenceRecord) {
    source = record.source
    name = record.name
  }

  /// Text such as `app 3 "/usr/bin/door"`. Bytes that are not printable ASCII are escaped, so that
  /// no name can forge a line of a log.
  public var description: String {
    let text = name.map { byte in
      (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
        ? String(UnicodeScalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    return "\(source) \"\(text)\""
  }
}
