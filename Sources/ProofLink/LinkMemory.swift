// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A command that left the app, and whose outcome is not known yet.
///
/// Both values went over the air in the clear, or can be computed from values that did: they are
/// not secret.
public struct OpenCommand: Sendable, Hashable {
  /// The nonce that its proofs answer.
  public let nonce: ProofNonce
  /// The counter of the challenge that it answers.
  public let counter: UInt64

  /// Names a command.
  public init(nonce: ProofNonce, counter: UInt64) {
    self.nonce = nonce
    self.counter = counter
  }
}

/// A connection's memory of one piece of hardware. Nothing in it is secret.
///
/// A connection that loads it need not present the token or discover the attributes again after a
/// restart. Above all, it does not send a command again that was already done: see
/// ``HardwareConnection/send(_:proving:within:)``.
package struct LinkMemory: Sendable, Hashable {
  /// The token that the hardware said, with a receipt, that it holds.
  package var heldToken: TokenDigest?
  /// The command that was left open.
  package var openCommand: OpenCommand?
  /// The handles of the hardware's attributes.
  package var attributes: AttributeTable?

  /// Remembers nothing.
  package init() {}
}

// Bytes to store: docs/LINK.md, section 9.
extension LinkMemory {
  /// The length of a memory, in bytes.
  package static var byteCount: Int { Offset.check + Digest.byteCount }

  private static let label = Array("pkl1.link-memory".utf8)
  private static let head: [UInt8] = Array("PKLM".utf8) + [1]

  private enum Offset {
    static let flags = 5
    static let heldToken = 8
    static let nonce = 24
    static let counter = 40
    static let handles = 48
    static let check = 66
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let heldToken = Flags(rawValue: 1)
    static let openCommand = Flags(rawValue: 2)
    static let attributes = Flags(rawValue: 4)
    static let all: Flags = [.heldToken, .openCommand, .attributes]
  }

  /// The bytes to store.
  package var bytes: [UInt8] {
    var bytes = Self.head + [UInt8](repeating: 0, count: Offset.check - Self.head.count)
    var flags = Flags()
    if let heldToken {
      flags.insert(.heldToken)
      bytes.replaceSubrange(Offset.heldToken..<Offset.nonce, with: heldToken.bytes)
    }
    if let openCommand {
      flags.insert(.openCommand)
      bytes.replaceSubrange(Offset.nonce..<Offset.counter, with: openCommand.nonce.bytes)
      bytes.replaceSubrange(
        Offset.counter..<Offset.handles, with: openCommand.counter.littleEndianBytes)
    }
    if let attributes {
      flags.insert(.attributes)
      bytes.replaceSubrange(
        Offset.handles..<Offset.check,
        with: attributes.handles.flatMap(\.littleEndianBytes))
    }
    bytes[Offset.flags] = flags.rawValue
    return bytes + Digest(hashing: Self.label + bytes).bytes
  }

  /// Reads stored bytes.
  ///
  /// - Parameter bytes: An earlier value of ``bytes``.
  /// - Throws: ``/ProofModel/ProofError/malformed(_:byteCount:)`` if it is damaged. Then begin with
  ///   an empty memory: the hardware is asked about no earlier command.
  package init(_ bytes: [UInt8]) throws(ProofError) {
    let damaged = ProofError.malformed("link memory", byteCount: bytes.count)
    guard bytes.count == Self.byteCount, bytes.starts(with: Self.head) else { throw damaged }
    let check = Digest(hashing: Self.label + bytes[..<Offset.check]).bytes
    let flags = Flags(rawValue: bytes[Offset.flags])
    guard bytes[Offset.check...].elementsEqual(check), Flags.all.isSuperset(of: flags) else {
      throw damaged
    }
    if flags.contains(.heldToken) {
      heldToken = try TokenDigest(Array(bytes[Offset.heldToken..<Offset.nonce]))
    }
    if flags.contains(.openCommand) {
      openCommand = OpenCommand(
        nonce: try ProofNonce(Array(bytes[Offset.nonce..<Offset.counter])),
        counter: UInt64(littleEndianBytes: bytes[Offset.counter..<Offset.handles]))
    }
    if flags.contains(.attributes) {
      attributes = AttributeTable(
        handles: stride(from: Offset.handles, to: Offset.check, by: 2).map {
          LinkPDU.number(bytes[$0...])
        })
    }
  }
}
