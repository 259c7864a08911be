// SPDX-License-Identifier: Apache-2.0

/// A measurement to come, in an answer: of the app's next build, of the system's next state, or of both.
///
/// The service predicts it from registered records. The app stores it beside the present pair, and opens
/// hardware with it after the update, with no network.
public struct UpcomingPair: Sendable, Hashable {
  /// The most pairs that one answer has.
  public static let countMax = 3

  /// The configuration to measure under after the update. Its generation is that of ``token``.
  public let config: MeasurementConfig
  /// The token with the predicted measurement, for the backend.
  public let token: String
  /// The name of the registered build or environment, for people.
  public let label: String

  /// Describes a pair.
  public init(_ config: MeasurementConfig, token: String, label: String) {
    self.config = config
    self.token = token
    self.label = label
  }
}

extension UpcomingPair {
  /// The property by which a report asks for pairs to come, and its value.
  package static var property: (name: String, value: String) { ("upcoming", "1") }
}

extension AttestationReader {
  mutating func readUpcoming() throws(ProofError) -> [UpcomingPair] {
    let count = Int(try readByte())
    guard (1...UpcomingPair.countMax).contains(count) else { throw malformed }
    var pairs: [UpcomingPair] = []
    for _ in 0..<count {
      let config = try MeasurementConfig(readBlob(max: AttestationWire.configMax))
      let token = try readBlob(max: AttestationWire.tokenMax)
      guard let text = String(validating: token, as: UTF8.self), !text.isEmpty else {
        throw malformed
      }
      pairs.append(UpcomingPair(config, token: text, label: try readText()))
    }
    return pairs
  }
}

extension AttestationWriter {
  mutating func write(_ pairs: [UpcomingPair]) {
    precondition(pairs.count <= UpcomingPair.countMax)
    write(UInt8(pairs.count))
    for pair in pairs {
      write(blob: pair.config.bytes)
      write(blob: Array(pair.token.utf8))
      write(text: pair.label)
    }
  }
}

extension EvidenceSet {
  /// The records as bytes, as a report has them.
  package var recordBytes: [UInt8] {
    var writer = AttestationWriter(transcript: "")
    writer.write(UInt32(records.count))
    for record in records { writer.write(record) }
    return writer.bytes
  }

  /// Reads the output of ``recordBytes``.
  ///
  /// - Parameter bytes: The records.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  package init(recordBytes bytes: [UInt8]) throws(ProofError) {
    var reader = AttestationReader(part: bytes, noun: "records")
    self = try reader.readRecords()
    try reader.finish()
  }

  /// A copy with other records in the place of some.
  ///
  /// - Parameters:
  ///   - records: The new records: each replaces the one of its source and name, or is added.
  ///   - whole: Sources of which no old record stays.
  /// - Returns: The copy.
  /// - Throws: ``ProofError/evidenceRepeated(_:)`` never, because each name stands once.
  package func replacing(
    with records: [EvidenceRecord], whole: Set<SourceID>
  ) throws(ProofError) -> EvidenceSet {
    let names = Set(records.map(EvidenceName.init))
    let kept = self.records.filter { record in
      !whole.contains(record.source) && !names.contains(EvidenceName(record))
    }
    return try EvidenceSet(kept + records)
  }
}

extension EvidenceRecord {
  /// Sources whose record of the executable differs from build to build, and does not follow from its
  /// files alone: its code in memory, and its links.
  package static let ofExecutable: [SourceID] = [
    try? SourceID(.app, 1), try? SourceID(.environment, 6),
  ].compactMap(\.self)

  /// Whether it is a record of the executable in one of these sources.
  package var isOfExecutable: Bool {
    Self.ofExecutable.contains(source) && name == Array("executable".utf8)
  }

  /// The record as a line of text: class, number, name and digest, the last two in hexadecimal; `absent`
  /// without digest. An app on a reference machine prints its records so, and `proofctl` reads them.
  public var line: String {
    let digest = digest.map { Hexadecimal.encode($0.bytes) } ?? "absent"
    let source = "\(source.evidenceClass.rawValue) \(source.number)"
    return "\(source) \(Hexadecimal.encode(name)) \(digest)"
  }

  /// Reads the output of ``line``; nil for anything else.
  public init?(line: String) {
    let words = line.split(separator: " " as Character).map(String.init)
    guard words.count == 4, let number = UInt8(words[0]), let source = UInt8(words[1]),
      let evidenceClass = EvidenceClass(rawValue: number),
      let id = try? SourceID(evidenceClass, source), let name = Hexadecimal.decode(words[2])
    else { return nil }
    var digest: Digest?
    if words[3] != "absent" {
      guard let bytes = Hexadecimal.decode(words[3]), let value = try? Digest(bytes) else {
        return nil
      }
      digest = value
    }
    guard let record = try? EvidenceRecord(id, name: name, digest: digest) else { return nil }
    self = record
  }
}
