// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The PDUs that the app's end sends and understands (docs/LINK.md, section 2).
package enum LinkPDU {
  package static let mtus = 23...517
  package static let error: UInt8 = 0x01
  /// The code of an error: the hardware cannot answer now.
  package static let unlikely: UInt8 = 0x0E
  package static let mtuRequest: UInt8 = 0x02
  package static let mtuResponse: UInt8 = 0x03
  package static let typeRequest: UInt8 = 0x08
  package static let typeResponse: UInt8 = 0x09
  package static let readRequest: UInt8 = 0x0A
  package static let readResponse: UInt8 = 0x0B
  package static let blobRequest: UInt8 = 0x0C
  package static let blobResponse: UInt8 = 0x0D
  package static let groupRequest: UInt8 = 0x10
  package static let groupResponse: UInt8 = 0x11
  package static let writeRequest: UInt8 = 0x12
  package static let writeResponse: UInt8 = 0x13
  package static let notification: UInt8 = 0x1B
  package static let writeCommand: UInt8 = 0x52

  static let primaryService: UInt16 = 0x2800
  static let characteristic: UInt16 = 0x2803
  static let descriptor: UInt16 = 0x2902

  /// Opcode and handle, before a value that is written or notified.
  package static let headByteCount = 3

  static func exchange(mtu: Int) -> [UInt8] { [mtuRequest] + UInt16(mtu).littleEndianBytes }

  static func groups(_ type: UInt16, in range: ClosedRange<UInt16>) -> [UInt8] {
    [groupRequest] + asked(type, range)
  }

  static func attributes(_ type: UInt16, in range: ClosedRange<UInt16>) -> [UInt8] {
    [typeRequest] + asked(type, range)
  }

  static func read(_ handle: UInt16) -> [UInt8] { [readRequest] + handle.littleEndianBytes }

  static func read(_ handle: UInt16, from offset: Int) -> [UInt8] {
    [blobRequest] + handle.littleEndianBytes + UInt16(offset).littleEndianBytes
  }

  static func subscribe(_ descriptor: UInt16) -> [UInt8] {
    [writeRequest] + descriptor.littleEndianBytes + [1, 0]
  }

  static func command(_ handle: UInt16, _ value: [UInt8]) -> [UInt8] {
    [writeCommand] + handle.littleEndianBytes + value
  }

  /// The value of a notification; nil if the PDU is none.
  static func notified(_ pdu: [UInt8], by handle: UInt16) -> [UInt8]? {
    guard pdu.count > headByteCount, pdu[0] == notification, number(pdu[1...]) == handle
    else { return nil }
    return Array(pdu[headByteCount...])
  }

  /// Whether the PDU refuses a request of this opcode.
  static func refuses(_ request: UInt8, _ pdu: [UInt8]) -> Bool {
    pdu.count == 5 && pdu[0] == error && pdu[1] == request
  }

  /// The first two bytes as a number; there must be two.
  package static func number(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    UInt16(littleEndianBytes: bytes.prefix(2))
  }

  private static func asked(_ type: UInt16, _ range: ClosedRange<UInt16>) -> [UInt8] {
    range.lowerBound.littleEndianBytes + range.upperBound.littleEndianBytes + type.littleEndianBytes
  }
}
