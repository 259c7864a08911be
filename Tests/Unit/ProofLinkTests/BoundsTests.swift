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
