// SPDX-License-Identifier: Apache-2.0

/// Reads a message field by field. Every length is checked before it is used, and no bytes may be
/// left at the end.
struct AttestationReader {
  private let bytes: [UInt8]
  private var position = 0
  private let noun: String
  /// Whether the message is of version 2: it speaks of the installation's key, or, as an answer, has an
  /// admission to a gate.
  private(set) var hasKey = false
  /// Whether the message is of version 3 as an answer: it has keys of secure strings.
  private(set) var hasStringKeys = false
  /// Whether the message is of version 4 as an answer: it has pairs of measurements to come.
  private(set) var hasUpcoming = false
  /// Whether the message is of version 3 as a question or a report: it says what its app withholds.
  private var hasCollection = false

  /// `knowsKeys`: whether this message has a version 2. `knowsStrings`, `knowsCollection`: whether it has
  /// a version 3, and which.
  init(
    _ bytes: [UInt8], _ kind: AttestationWire.Kind, noun: String, knowsKeys: Bool = false,
    knowsStrings: Bool = false, knowsCollection: Bool = false, knowsUpcoming: Bool = false
  ) throws(ProofError) {
    self.bytes = bytes
    self.noun = noun
    guard bytes.count <= AttestationWire.messageMax, try take(2) == AttestationWire.magic[...]
    else { throw malformed }
    switch try readByte() {
    case AttestationWire.version: break
    case AttestationWire.keyVersion where knowsKeys: hasKey = true
    case AttestationWire.stringVersion where knowsStrings: hasStringKeys = true
    case AttestationWire.upcomingVersion where knowsUpcoming: hasUpcoming = true
    case AttestationWire.collectionVersion where knowsCollection: hasCollection = true
    default: throw .tooNew(noun)
    }
    guard try readByte() == kind.rawValue else { throw malformed }
  }

  /// For bytes that are part of a message, without a head.
  init(part bytes: [UInt8], noun: String) {
    self.bytes = bytes
    self.noun = noun
  }

  var malformed: ProofError { .malformed(noun, byteCount: bytes.count) }

  /// Everything read so far: the input of a tag.
  var readBytes: ArraySlice<UInt8> { bytes[..<position] }

  mutating func take(_ count: Int) throws(ProofError) -> ArraySlice<UInt8> {
    guard count <= bytes.count - position else { throw malformed }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func readByte() throws(ProofError) -> UInt8 {
    guard position < bytes.count else { throw malformed }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func readUInt16() throws(ProofError) -> UInt16 {
    UInt16(littleEndianBytes: try take(2))
  }

  mutating func readUInt32() throws(ProofError) -> UInt32 {
    UInt32(littleEndianBytes: try take(4))
  }

  mutating func read<Value: FixedBytes>(_: Value.Type) throws(ProofError) -> Value {
    let start = position
    guard Value.byteCount <= bytes.count - start else { throw malformed }
    position += Value.byteCount
    return try Value(bytes.span.extracting(start..<position))
  }

  mutating func readText(max: Int = AttestationWire.textMax) throws(ProofError) -> String {
    let count = Int(try readUInt16())
    let start = position
    guard count <= max, count <= bytes.count - start,
      let text = String(utf8: bytes.span.extracting(start..<start + count))
    else { throw malformed }
    position += count
    return text
  }

  mutating func readBlob(max: Int) throws(ProofError) -> [UInt8] {
    let count = Int(try readUInt32())
    guard count <= max else { throw malformed }
    return Array(try take(count))
  }

  /// Reads a byte that says whether an optional field follows.
  mutating func readFlag() throws(ProofError) -> Bool {
    switch try readByte() {
    case 0: return false
    case 1: return true
    default: throw malformed
    }
  }

  /// Reads what the app withholds, and whether it has an installation key: the fields that version 3
  /// has before those of version 2.
  mutating func readCollection() throws(ProofError) -> CollectionMode {
    guard hasCollection else { return [] }
    let mode = CollectionMode(rawValue: try readByte())
    // An app that withholds nothing has one encoding: an earlier version.
    guard !mode.isEmpty, mode.isSubset(of: .notGranted) else { throw malformed }
    hasKey = try readFlag()
    return mode
  }

  mutating func readMessageKey() throws(ProofError) -> MessageKey {
    try MessageKey(SecretBytes(copying: Array(take(MessageKey.byteCount)).span))
  }

  mutating func readStringKeys() throws(ProofError) -> [StringKey] {
    let count = try readByte()
    guard (1...AttestationWire.stringKeysMax).contains(Int(count)) else { throw malformed }
    var keys: [StringKey] = []
    for _ in 0..<count {
      keys.append(try StringKey(SecretBytes(copying: Array(take(StringKey.byteCount)).span)))
    }
    return keys
  }

  mutating func readRecord() throws(ProofError) -> EvidenceRecord {
    guard let evidenceClass = EvidenceClass(rawValue: try readByte()) else { throw malformed }
    let number = try readByte()
    guard number > 0 else { throw malformed }
    let source = try SourceID(evidenceClass, number)
    let isPresent = try readFlag()
    let name = try take(Int(try readByte()))
    guard !name.isEmpty else { throw malformed }
    return try EvidenceRecord(source, nameBytes: name, digest: isPresent ? read(Digest.self) : nil)
  }

  /// Reads records and requires their canonical order, so that one set has one encoding.
  mutating func readRecords() throws(ProofError) -> EvidenceSet {
    let count = Int(try readUInt32())
    guard count <= AttestationWire.recordsMax else { throw malformed }
    var records: [EvidenceRecord] = []
    records.reserveCapacity(min(count, (bytes.count - position) / AttestationWire.recordMin))
    for _ in 0..<count { records.append(try readRecord()) }
    guard let set = EvidenceSet(ordered: records) else { throw malformed }
    return set
  }

  func finish() throws(ProofError) {
    guard position == bytes.count else { throw malformed }
  }
}
