// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// Exchanges whose link is the test, up to the count that ends them.
@Suite("Counts that end an exchange")
struct LinkEndTests {
  private let pair: LinkPair

  init() throws { pair = try LinkPair() }

  private static func timer(_ actions: [LinkExchange.Action]) -> Int {
    for case .setTimer(let number) in actions.reversed() { return number }
    return -1
  }

  private static func error(_ actions: [LinkExchange.Action]) -> LinkError? {
    if case .finish(.failure(let error))? = actions.last { error } else { nil }
  }

  private static func isConnecting(_ actions: [LinkExchange.Action]) -> Bool {
    if case .connect? = actions.last { true } else { false }
  }

  private static let services: [[UInt8]] = [[0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]]

  /// Tells of hardware whose verdict has the handle 15, and its status 19, from the search on.
  private static func discover(_ exchange: inout LinkExchange) -> [LinkExchange.Action] {
    let values = (UInt8(0)..<8).flatMap { place -> [UInt8] in
      [4 * place + 2, 0, 0x10, 4 * place + 3, 0] + AttributeTable.uuid(UInt16(place) + 2)
    }
    _ = exchange.handle(.received([0x11, 20, 1, 0, 60, 0] + AttributeTable.uuid(1)))
    _ = exchange.handle(.received([0x09, 21] + values))
    let found = exchange.handle(.received([0x09, 4, 16, 0, 0, 0]))
    #expect(LinkPair.sent(found) == [[0x12, 16, 0, 1, 0]])
    return exchange.handle(.received([0x13]))
  }

  @Test("a token with receipts of another key alone is given up on the third link")
  func unreadReceipts() throws {
    let packets = try Answer(
      .held, detail: 0, counter: 0, to: .random(), with: pair.other
    ).message.packets(of: 20)
    var exchange = LinkExchange(
      LinkRequest(
        .present, token: pair.token, isHeld: false, mtu: 23,
        link: OpenLink(mtu: 23, table: LinkPair.table)))
    var (begun, handle) = (exchange.start(), UInt8(10))
    for count in 1...3 {
      for packet in packets {
        let asked = exchange.handle(.received([0x1B, handle, 0] + packet))
        guard case .check? = asked.last else { continue }
        #expect(exchange.handle(.checked(.success(nil))).isEmpty)
      }
      let ended = exchange.handle(.timeout(Self.timer(begun)))
      let error = Self.error(ended)
      #expect(error?.verdict == (count == 3 ? .deviceDiffers : nil))
      guard count < 3 else { break }
      #expect(Self.isConnecting(ended) && exchange.table == nil)
      #expect(LinkPair.sent(exchange.handle(.connected)) == Self.services)
      (begun, handle) = (Self.discover(&exchange), 15)
      #expect(exchange.table != nil)
    }
    #expect(LinkExchange.unreadReceiptCountMax == 3)
  }

  @Test("a table that was found anew is discarded by the third link that fails with it")
  func failedLinks() throws {
    let subscribe: [[UInt8]] = [[0x12, 16, 0, 1, 0]]
    var exchange = LinkExchange(
      LinkRequest(
        .status, token: pair.token, isHeld: true, mtu: 23,
        link: OpenLink(mtu: 23, table: LinkPair.table)))
    #expect(LinkPair.sent(exchange.start()) == [[0x0A, 13, 0]])
    // The handle is wrong: the table is discarded, and the link that follows is the first one.
    #expect(Self.isConnecting(exchange.handle(.received([0x01, 0x0A, 13, 0, 1]))))
    #expect(LinkPair.sent(exchange.handle(.connected)) == Self.services)
    #expect(LinkPair.sent(Self.discover(&exchange)) == [[0x0A, 19, 0]])
    _ = exchange.handle(.disconnected)
    #expect(LinkPair.sent(exchange.handle(.connected)) == subscribe)
    _ = exchange.handle(.disconnected)
    #expect(LinkPair.sent(exchange.handle(.connected)) == Self.services)
    _ = Self.discover(&exchange)
    for _ in 1...2 {
      _ = exchange.handle(.disconnected)
      #expect(LinkPair.sent(exchange.handle(.connected)) == subscribe)
    }
    _ = exchange.handle(.disconnected)
    #expect(LinkPair.sent(exchange.handle(.connected)) == Self.services)
  }

  @Test("a refused app is measured again as long as two attempts are left")
  func attempts() throws {
    for (attempts, isMeasured) in [(0, false), (1, false), (2, true), (3, true)]
      as [(UInt16, Bool)]
    {
      let command = try pair.proved()
      var exchange = LinkExchange(
        LinkRequest(
          .command(after: nil), token: pair.token, isHeld: true, mtu: 185,
          link: OpenLink(mtu: 185, table: LinkPair.table)))
      _ = exchange.start()
      let challenge = UInt64(7).littleEndianBytes + [UInt8](repeating: 3, count: 32)
      _ = exchange.handle(.received([0x0B] + challenge))
      _ = exchange.handle(.proved(.success(command)))
      let answer = Answer(
        .integrityDiffers, detail: attempts, counter: 7, to: command.nonce, with: pair.secrets)
      let packets = try answer.message.packets(of: 182)
      #expect(packets.count == 1)
      let ended = exchange.handle(.received([0x1B, 10, 0] + packets[0]))
      if case .remeasure? = ended.last {
        #expect(isMeasured)
      } else {
        let error = Self.error(ended)
        #expect(!isMeasured && error?.verdict == .integrityDiffers)
        #expect(error?.isAuthenticated == true && error?.reason == .integrityDiffers)
      }
    }
  }
}

/// docs/LINK.md, section 10.
@Suite("A log that comes in parts")
struct LinkLogTests {
  private let token: MeasurementToken
  private let nonce: HardwareLogNonce

  init() throws {
    token = try LinkPair().token
    nonce = try HardwareLogNonce([UInt8](repeating: 5, count: 16))
  }

  private func exchange(last: UInt16 = 19) -> LinkExchange {
    var values = LinkPair.table.values
    values[.reply] = last
    let table = AttributeTable(values: values, verdictDescriptor: 11)
    return LinkExchange(
      LinkRequest(
        .log(from: 0, nonce), token: token, isHeld: true, mtu: 185,
        link: OpenLink(mtu: 185, table: table)))
  }

  /// The declaration of the log's characteristic, with its value at 0x0050.
  private static let declaration: [UInt8] =
    [0x09, 21, 0x4F, 0, 0x0C, 0x50, 0]
    + [0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E, 11, 0, 0x19, 0xDB]

  /// The notifications of one entry of a log that has more.
  private static func part(_ first: UInt8) throws -> [[UInt8]] {
    var bytes = [UInt8](repeating: 0, count: 24)
    bytes[0] = first
    bytes[18] = 1
    bytes += [0, 0, 0, 0, 0, 0, 1, 0] + [UInt8](repeating: 9, count: 32 + 16)
    return try Message(.log, bytes).packets(of: 182).map { [0x1B, 10, 0] + $0 }
  }

  private static func timer(_ actions: [LinkExchange.Action]) -> Int {
    for case .setTimer(let number) in actions.reversed() { return number }
    return -1
  }

  private static func parts(_ actions: [LinkExchange.Action]) -> Int? {
    if case .finish(.success(.log(let parts)))? = actions.last { parts.count } else { nil }
  }

  @Test("is asked for three times, and three times again after a part came")
  func timeouts() throws {
    var exchange = exchange()
    _ = exchange.start()
    var asked = exchange.handle(.received(Self.declaration))
    for first in UInt8(0)...1 {
      for _ in 1...2 {
        asked = exchange.handle(.timeout(Self.timer(asked)))
        #expect(LinkPair.sent(asked).count == 1)
      }
      for pdu in try Self.part(first) { asked = exchange.handle(.received(pdu)) }
      #expect(LinkPair.sent(asked).count == 1)
    }
    for count in 1...3 {
      asked = exchange.handle(.timeout(Self.timer(asked)))
      #expect(LinkPair.sent(asked).count == (count < 3 ? 1 : 0))
    }
    #expect(Self.parts(asked) == 2)
  }

  @Test("ends with 64 parts")
  func most() throws {
    var exchange = exchange()
    _ = exchange.start()
    var asked = exchange.handle(.received(Self.declaration))
    for first in UInt8(0)..<64 {
      #expect(Self.parts(asked) == nil)
      for pdu in try Self.part(first) { asked = exchange.handle(.received(pdu)) }
    }
    #expect(Self.parts(asked) == 64)
  }

  @Test("is looked for behind the last handle, if a handle is left")
  func handles() {
    for (last, sent) in [
      (0xFFFD, [0x08, 0xFE, 0xFF, 0xFF, 0xFF, 0x03, 0x28]),
      (0xFFFE, [0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0x03, 0x28]), (0xFFFF, nil),
    ] as [(UInt16, [UInt8]?)] {
      var exchange = exchange(last: last)
      let begun = exchange.start()
      #expect(LinkPair.sent(begun) == (sent.map { [$0] } ?? []))
      guard case .finish(.failure(let error))? = begun.last else { continue }
      #expect(sent == nil && error.reason == .logMissing)
    }
  }
}
