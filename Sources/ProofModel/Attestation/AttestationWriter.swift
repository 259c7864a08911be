// SPDX-License-Identifier: Apache-2.0

/// Writes a message field by field. Traps on a value that does not fit its field: a defect of the
/// caller.
struct AttestationWriter {
  private(set) var bytes: [UInt8] = []

  init(_ kind: AttestationWire.Kind, version: UInt8 = AttestationWire.version) {
    bytes = AttestationWire.magic + [version, kind.rawValue]
  }

  /// Begins with a version instead of a message head, for parts of a message.
  init(part version: UInt8) { bytes = [version] }

  /// Begins with a label instead of a message head, for transcripts that share the encoding of a
  /// field.
  init(transcript label: String) { bytes = Array(label.utf8) }

  mutating func write(_ byte: UInt8) { bytes.append(byte) }
  mutating func write(_ value: UInt16) { writeInteger(value) }
  mutating func write(_ value: UInt32) { writeInteger(value) }
  mutating func write(_ value: some FixedBytes) {
    value.append(to: &bytes)
  }

  mutating func write(_ span: RawSpan) {
    bytes.append(span)
  }

  mutating func write(raw: [UInt8]) { bytes += raw }

  mutating func write(text: String) {
    write(UInt16(text.utf8.count))
    bytes += text.utf8
  }

  mutating func write(blob: [UInt8]) {
    write(UInt32(blob.count))
    bytes += blob
  }

  mutating func write(_ record: EvidenceRecord) {
    write(record.source.evidenceClass.rawValue)
    write(record.source.number)
    write(record.digest == nil ? 0 : 1 as UInt8)
    write(UInt8(record.nameBytes.count))
    bytes += record.nameBytes
    if let digest = record.digest { write(digest) }
  }

  private mutating func writeInteger<Value: FixedWidthInteger>(_ value: Value) {
    for shift in stride(from: 0, to: Value.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> Value(shift)))
    }
  }
}
