// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

enum CoreFrame {
  static func packetCount(_ type: MessageType, _ byteCount: Int, _ packetSize: Int) -> Int {
    pfc_fragment_count(type.rawValue, byteCount, packetSize)
  }
}

/// A `pfc_fragmenter` and the bytes it borrows. The pointer is set for each call, because an
/// array's address is valid for one call only.
@safe
struct CoreFragmenter: ~Copyable {
  private let message: Message
  private let packetSize: Int
  private var raw = unsafe pfc_fragmenter()

  init(_ message: Message, packetSize: Int) {
    self.message = message
    self.packetSize = packetSize
    var raw = unsafe pfc_fragmenter()
    let result = unsafe message.bytes.withUnsafeBufferPointer { bytes in
      unsafe CoreResult(
        pfc_fragment_init(
          &raw, message.type.rawValue, bytes.baseAddress, bytes.count, packetSize))
    }
    result.mustBeOK()
    unsafe raw.message = nil
    unsafe self.raw = unsafe raw
  }

  mutating func next() -> [UInt8]? {
    let packet = unsafe [UInt8](
      unsafeUninitializedCapacity: packetSize
    ) { packet, count in
      count = unsafe message.bytes.withUnsafeBufferPointer { bytes in
        unsafe raw.message = bytes.baseAddress
        defer { unsafe raw.message = nil }
        return unsafe pfc_fragment_next(&raw, packet.baseAddress)
      }
    }
    return packet.isEmpty ? nil : packet
  }
}

extension CoreFragmenter: @unchecked Sendable {
  // Sendable because the one pointer in it is nil between calls, and everything else is a value.
}

/// A `pfc_reassembler`. Messages are not secret, so it stands inline.
struct CoreReassembler: ~Copyable, Sendable {
  private var raw = pfc_reassembler()

  init() {
    unsafe pfc_reassemble_init(&raw)
  }

  mutating func receive(_ packet: Span<UInt8>) -> Reassembly {
    let result = unsafe packet.withUnsafeBufferPointer { packet in
      unsafe pfc_reassemble(&raw, packet.baseAddress, packet.count)
    }
    switch result {
    case PFC_FRAME_MORE: return .more
    case PFC_FRAME_REPEATED: return .repeated
    case PFC_FRAME_GARBAGE: return .garbage
    case PFC_FRAME_LOST: return .lost
    default: return .complete(message)
    }
  }

  /// The message that is complete; the core has checked that its type takes its length.
  private var message: Message {
    let bytes = unsafe withUnsafeBytes(of: raw.bytes) { unsafe Array($0.prefix(Int(raw.size))) }
    return Message(encoded: known(MessageType(rawValue: raw.type)), bytes)
  }
}
