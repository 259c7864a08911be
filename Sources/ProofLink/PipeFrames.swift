// SPDX-License-Identifier: Apache-2.0

/// PDUs in a stream of bytes: each preceded by its length, 2 bytes (docs/LINK.md, section 1).
package struct PipeFrames: Sendable {
  /// A length that no PDU has, so that the start of the next one is unknown.
  package struct OutOfStep: Error {}

  private var bytes: [UInt8] = []

  package init() {}

  /// Takes received bytes.
  ///
  /// - Returns: The PDUs that are whole by now.
  package mutating func receive(_ piece: some Sequence<UInt8>) throws(OutOfStep) -> [[UInt8]] {
    bytes.append(contentsOf: piece)
    var pdus: [[UInt8]] = []
    var at = 0
    while bytes.count >= at + 2 {
      let count = Int(bytes[at]) | Int(bytes[at + 1]) << 8
      guard 1...LinkPDU.mtus.upperBound ~= count else { throw OutOfStep() }
      guard bytes.count >= at + 2 + count else { break }
      pdus.append(Array(bytes[at + 2..<at + 2 + count]))
      at += 2 + count
    }
    bytes.removeFirst(at)
    return pdus
  }

  package static func frame(_ pdu: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: pdu.count), UInt8(truncatingIfNeeded: pdu.count >> 8)] + pdu
  }
}
