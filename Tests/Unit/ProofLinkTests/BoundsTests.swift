// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofModel
import Testing

@testable import ProofLink

/// The numbers of the link are those of docs/LINK.md, written out.
@Suite struct BoundsTests {
  /// docs/LINK.md, section 2.
  @Test("PDUs have the opcodes of the page")
  func opcodes() {
    #expect(LinkPDU.error == 0x01 && LinkPDU.unlikely == 0x0E)
    #expect(LinkPDU.mtuRequest == 0x02 && LinkPDU.mtuResponse == 0x03)
    #expect(LinkPDU.typeRequest == 0x08 && LinkPDU.typeResponse == 0x09)
    #expect(LinkPDU.readRequest == 0x0A && LinkPDU.readResponse == 0x0B)
    #expect(LinkPDU.blobRequest == 0x0C && LinkPDU.blobResponse == 0x0D)
    #expect(LinkPDU.groupRequest == 0x10 && LinkPDU.groupResponse == 0x11)
    #expect(LinkPDU.writeRequest == 0x12 && LinkPDU.writeResponse == 0x13)
    #expect(LinkPDU.notification == 0x1B && LinkPDU.writeCommand == 0x52)
    #expect(LinkPDU.primaryService == 0x2800 && LinkPDU.characteristic == 0x2803)
    #expect(LinkPDU.descriptor == 0x2902)
    #expect(LinkPDU.mtus == 23...517 && LinkPDU.headByteCount == 3)
  }

  /// docs/LINK.md, section 3.
  @Test("Attributes have the numbers of the page")
  func attributes() {
    #expect(AttributeTable.Characteristic.allCases.map(\.rawValue) == [2, 3, 4, 5, 6, 7, 8, 9])
    #expect(AttributeTable.serviceNumber == 1 && AttributeTable.logNumber == 11)
    #expect(AttributeTable.sealedChallengeNumber == 12 && AttributeTable.delegationNumber == 13)
    // db190102-3eda-4f44-b2cd-07db92324554, in reverse.
    #expect(
      AttributeTable.uuid(0x0102) == [
        0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E, 0x02, 0x01, 0x19,
        0xDB,
      ])
  }

  /// docs/LINK.md, section 6.
  @Test("A reply has 18 bytes, and the results of the page")
  func replies() {
    #expect(DeviceReply.byteCount == 18)
    let results: [DeviceReply.Result] = [.done, .unknownCommand, .outOfRange, .notStored]
    #expect(results.map(\.rawValue) == [1, 2, 3, 4])
  }

  /// docs/LINK.md, section 9.
  @Test("An exchange ends after its counts, and a memory has one of three lengths")
  func counts() {
    #expect(LinkExchange.linkCountMax == 12 && LinkExchange.commandCountMax == 6)
    #expect(LinkExchange.unreadRecallCountMax == 3 && LinkExchange.unreadReceiptCountMax == 3)
    #expect(LinkExchange.logPartCountMax == 64 && LinkExchange.logTimeoutCountMax == 3)
    #expect(LinkExchange.loanTimeoutCountMax == 3 && LinkExchange.sealTimeoutCountMax == 3)
    #expect(LinkMemory.byteCount == 98 && LinkMemory.byteCountTwo == 172)
    #expect(LinkMemory.byteCountMax == 180)
    #expect(PipeTransport.socketAdmission == .seconds(10))
  }

  /// Bytes from a place on.
  private static func run(_ byte: UInt8, _ count: Int) -> [UInt8] {
    [UInt8](repeating: byte, count: count)
  }

  /// The bytes of a memory with its check behind.
  private static func checked(_ bytes: [UInt8]) -> [UInt8] {
    bytes + Digest(hashing: Array("pkl1.link-memory".utf8) + bytes).bytes
  }

  /// docs/LINK.md, section 9: fields 0 to 66, which all versions have.
  private static func common(_ version: UInt8, _ flags: UInt8) -> [UInt8] {
    Array("PKLM".utf8) + [version, flags, 0, 0] + run(1, 16) + run(2, 16)
      + [8, 7, 6, 5, 4, 3, 2, 1] + (0..<9).flatMap { [0x10 + $0, 0x20] }
  }

  private static func memory() throws -> LinkMemory {
    var memory = LinkMemory()
    memory.heldToken = try TokenDigest(run(1, 16))
    memory.openCommand = OpenCommand(
      nonce: try ProofNonce(run(2, 16)), counter: 0x0102_0304_0506_0708)
    memory.attributes = AttributeTable(handles: (0..<9).map { 0x2010 + $0 })
    return memory
  }

  @Test("A memory of version 1 has the layout of the page")
  func memoryOne() throws {
    let bytes = Self.checked(Self.common(1, 0b111))
    #expect(bytes.count == 98)
    #expect(try Self.memory().bytes == bytes)
    #expect(try LinkMemory(bytes) == Self.memory())
  }

  @Test("A memory of version 2 has the layout of the page")
  func memoryTwo() throws {
    let ratchet: [UInt8] =
      [2, 0] + Self.run(3, 16) + Self.run(4, 16) + Self.run(5, 16) + Self.run(6, 16)
      + [9, 0, 0, 0, 0, 0, 0, 1]
    let bytes = Self.checked(Self.common(2, 0b11_1111) + ratchet)
    #expect(bytes.count == 172)
    var memory = try Self.memory()
    memory.hasSeenCopy = true
    memory.ratchet = Ratchet(
      .refuse, of: try TokenDigest(Self.run(3, 16)), lastAccepted: 0x0100_0000_0000_0009,
      value: Self.run(4, 16), after: .init(next: Self.run(5, 16), fork: Self.run(6, 16)))
    #expect(memory.bytes == bytes)
    #expect(try LinkMemory(bytes) == memory)
  }

  @Test("A memory of version 3 has the layout of the page, and each flag its bit")
  func memoryThree() throws {
    let rest = Self.run(0, 74) + [4, 3, 2, 1, 0, 0, 0, 0]
    let bytes = Self.checked(Self.common(3, 0b111) + rest)
    #expect(bytes.count == 180)
    var memory = try Self.memory()
    memory.lastSerial = 0x0102_0304
    #expect(memory.bytes == bytes)
    #expect(try LinkMemory(bytes) == memory)
    var seen = LinkMemory()
    seen.hasSeenCopy = true
    #expect(seen.bytes[5] == 8)
    seen.ratchet = Ratchet(
      .report, of: try TokenDigest(Self.run(3, 16)), lastAccepted: 0, value: Self.run(4, 16),
      after: nil)
    #expect(seen.bytes[5] == 24 && seen.bytes[66] == 1)
    var held = LinkMemory()
    held.heldToken = memory.heldToken
    #expect(held.bytes[5] == 1)
    held.heldToken = nil
    held.openCommand = memory.openCommand
    #expect(held.bytes[5] == 2)
    held.openCommand = nil
    held.attributes = memory.attributes
    #expect(held.bytes[5] == 4)
  }
}

/// A way to hardware that cannot be opened.
private struct ClosedWay: LinkTransport {
  func open() async throws(LinkUnavailable) -> any LinkChannel { throw LinkUnavailable("closed") }
}

/// A clock whose short sleeps take no time and are noted; longer ones last.
private final class NotingClock: Clock {
  private let still = StillClock()
  private let noted = CoreLock<[Duration]>([])

  var now: StillClock.Instant { still.now }
  var minimumResolution: Duration { .zero }
  var pauses: [Duration] { noted.withLock { $0 } }

  func sleep(until deadline: StillClock.Instant, tolerance: Duration?) async throws {
    if deadline.offset <= .seconds(1) { noted.withLock { $0.append(deadline.offset) } }
    try await still.sleep(until: deadline, tolerance: tolerance)
  }
}

extension BenchTests {
  @Suite("Pauses between the links of a call")
  struct PauseTests {
    @Test("are 50 ms before the second link, twice as long before each next one, a second at most")
    func pauses() async throws {
      let stage = try Stage(Bench(seed: 35))
      let clock = NotingClock()
      let door = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: stage.bench.secrets), over: ClosedWay(),
        memory: HeardMemory(), clock: clock)
      await #expect(throws: LinkError.self) { try await door.connect() }
      let doubled = [50, 100, 200, 400, 800].map { Duration.milliseconds($0) }
      #expect(clock.pauses == doubled + [Duration](repeating: .seconds(1), count: 6))
    }
  }
}
