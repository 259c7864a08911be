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

/// A connection's memory of one piece of hardware. Secret where it has a ratchet: keep it in a folder
/// that belongs to this user alone.
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
  /// The ratchet of the token.
  package var ratchet: Ratchet?
  /// Whether the hardware told that another copy of the app has sent commands, and the service was
  /// not told yet.
  package var hasSeenCopy = false
  /// The highest number of a delegation that this app has made; 0 before the first.
  package var lastSerial: UInt32 = 0

  /// Remembers nothing.
  package init() {}
}

// Bytes to store: docs/LINK.md, section 9.
extension LinkMemory {
  /// The length of a memory without a ratchet, in bytes: version 1.
  package static var byteCount: Int { Offset.check + Digest.byteCount }
  /// The length of a memory with one: version 2.
  package static var byteCountTwo: Int { Offset.checkTwo + Digest.byteCount }
  /// The length of a memory of an app that has lent: version 3.
  package static var byteCountMax: Int { Offset.checkThree + Digest.byteCount }

  private static let label = Array("pkl1.link-memory".utf8)
  private static let magic = Array("PKLM".utf8)

  private enum Offset {
    static let flags = 5
    static let heldToken = 8
    static let nonce = 24
    static let counter = 40
    static let handles = 48
    static let check = 66
    // Version 2 goes on.
    static let policy = 66
    static let ratchetToken = 68
    static let ratchet = 84
    static let next = 100
    static let fork = 116
    static let lastAccepted = 132
    static let checkTwo = 140
    // Version 3 goes on.
    static let serial = 140
    static let serialEnd = 144
    static let checkThree = 148

    static func check(of version: UInt8) -> Int {
      switch version {
      case 1: check
      case 2: checkTwo
      default: checkThree
      }
    }
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let heldToken = Flags(rawValue: 1)
    static let openCommand = Flags(rawValue: 2)
    static let attributes = Flags(rawValue: 4)
    static let hasSeenCopy = Flags(rawValue: 8)
    static let ratchetValue = Flags(rawValue: 16)
    static let ratchetFollowing = Flags(rawValue: 32)
    static let one: Flags = [.heldToken, .openCommand, .attributes]
    static let two: Flags = one.union([.hasSeenCopy, .ratchetValue, .ratchetFollowing])
  }

  /// The bytes to store.
  package var bytes: [UInt8] {
    let version: UInt8 = lastSerial > 0 ? 3 : ratchet != nil || hasSeenCopy ? 2 : 1
    let head = Self.magic + [version]
    let end = Offset.check(of: version)
    var bytes = head + [UInt8](repeating: 0, count: end - head.count)
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
    if hasSeenCopy { flags.insert(.hasSeenCopy) }
    if let ratchet { put(ratchet, into: &bytes, &flags) }
    bytes[Offset.flags] = flags.rawValue
    if version == 3 {
      bytes.replaceSubrange(
        Offset.serial..<Offset.serialEnd, with: lastSerial.littleEndianBytes)
    }
    return bytes + Digest(hashing: Self.label + bytes).bytes
  }

  private func put(_ ratchet: Ratchet, into bytes: inout [UInt8], _ flags: inout Flags) {
    bytes[Offset.policy] = ratchet.policy.rawValue
    bytes.replaceSubrange(Offset.ratchetToken..<Offset.ratchet, with: ratchet.token.bytes)
    if let value = ratchet.value {
      flags.insert(.ratchetValue)
      bytes.replaceSubrange(Offset.ratchet..<Offset.next, with: value)
    }
    if let after = ratchet.after {
      flags.insert(.ratchetFollowing)
      bytes.replaceSubrange(Offset.next..<Offset.fork, with: after.next)
      bytes.replaceSubrange(Offset.fork..<Offset.lastAccepted, with: after.fork)
    }
    bytes.replaceSubrange(
      Offset.lastAccepted..<Offset.checkTwo, with: ratchet.lastAccepted.littleEndianBytes)
  }

  private static func ratchet(_ bytes: [UInt8], _ flags: Flags) throws(ProofError) -> Ratchet? {
    guard let policy = RatchetPolicy(rawValue: bytes[Offset.policy]) else { return nil }
    return Ratchet(
      policy, of: try TokenDigest(Array(bytes[Offset.ratchetToken..<Offset.ratchet])),
      lastAccepted: UInt64(littleEndianBytes: bytes[Offset.lastAccepted..<Offset.checkTwo]),
      value: flags.contains(.ratchetValue) ? Array(bytes[Offset.ratchet..<Offset.next]) : nil,
      after: flags.contains(.ratchetFollowing)
        ? Ratchet.Following(
          next: Array(bytes[Offset.next..<Offset.fork]),
          fork: Array(bytes[Offset.fork..<Offset.lastAccepted])) : nil)
  }

  /// Reads stored bytes.
  ///
  /// - Parameter bytes: An earlier value of ``bytes``.
  /// - Throws: ``/ProofModel/ProofError/malformed(_:byteCount:)`` if it is damaged. Then begin with
  ///   an empty memory: the hardware is asked about no earlier command.
  package init(_ bytes: [UInt8]) throws(ProofError) {
    let damaged = ProofError.malformed("link memory", byteCount: bytes.count)
    guard
      let version = [Self.byteCount: 1, Self.byteCountTwo: 2, Self.byteCountMax: 3][bytes.count]
        as UInt8?, bytes.starts(with: Self.magic + [version])
    else { throw damaged }
    let isTwo = version > 1
    let end = Offset.check(of: version)
    let check = Digest(hashing: Self.label + bytes[..<end]).bytes
    let flags = Flags(rawValue: bytes[Offset.flags])
    guard bytes[end...].elementsEqual(check),
      (isTwo ? Flags.two : Flags.one).isSuperset(of: flags)
    else { throw damaged }
    if isTwo {
      hasSeenCopy = flags.contains(.hasSeenCopy)
      ratchet = try Self.ratchet(bytes, flags)
    }
    if version == 3 {
      lastSerial = UInt32(littleEndianBytes: bytes[Offset.serial..<Offset.serialEnd])
      guard lastSerial > 0, bytes[Offset.serialEnd..<end].allSatisfy({ $0 == 0 }) else {
        throw damaged
      }
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
