/// The hardware's attributes and the PDUs that reach them (docs/LINK.md, sections 2 and 3).
package enum LinkHandle: UInt16, Sendable {
  case token = 0x0003
  case challenge = 0x0005
  case command = 0x0008
  case verdict = 0x000A
  case verdictDescriptor = 0x000B
  case recall = 0x0011
}

package enum LinkPDU {
  package static let mtus = 23...517
  static let error: UInt8 = 0x01
  static let mtuResponse: UInt8 = 0x03
  static let readResponse: UInt8 = 0x0B
  static let blobResponse: UInt8 = 0x0D
  static let writeResponse: UInt8 = 0x13
  static let notification: UInt8 = 0x1B
  /// Opcode and handle, before a value that is written or notified.
  static let headByteCount = 3

  static func exchange(mtu: Int) -> [UInt8] { [0x02] + littleEndian(UInt16(mtu)) }

  static func read(_ handle: LinkHandle) -> [UInt8] { [0x0A] + littleEndian(handle.rawValue) }

  static func read(_ handle: LinkHandle, from offset: Int) -> [UInt8] {
    [0x0C] + littleEndian(handle.rawValue) + littleEndian(UInt16(offset))
  }

  static func subscribe(_ handle: LinkHandle) -> [UInt8] {
    [0x12] + littleEndian(handle.rawValue) + [1, 0]
  }

  static func command(_ handle: LinkHandle, _ value: [UInt8]) -> [UInt8] {
    [0x52] + littleEndian(handle.rawValue) + value
  }

  private static func littleEndian(_ value: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
  }

  /// The value of a notification, if that is what the PDU is.
  static func notified(_ pdu: [UInt8], by handle: LinkHandle) -> [UInt8]? {
    guard pdu.count > headByteCount, pdu[0] == notification,
      UInt16(pdu[1]) | UInt16(pdu[2]) << 8 == handle.rawValue
    else { return nil }
    return Array(pdu[headByteCount...])
  }
}
