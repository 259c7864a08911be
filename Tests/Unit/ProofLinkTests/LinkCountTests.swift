// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// Counts of an exchange that begin again.
@Suite("Links and timeouts that an exchange counts")
struct LinkCountTests {
  private let token: MeasurementToken
  private let command: ProvedCommand

  init() throws {
    let pair = try LinkPair()
    token = pair.token
    command = try pair.proved()
  }

  private func timer(_ actions: [LinkExchange.Action]) -> Int {
    for case .setTimer(let number) in actions.reversed() { return number }
    return -1
  }

  @Test("links that failed before a command was sent do not count afterwards")
  func links() throws {
    let subscribe: [[UInt8]] = [[0x12, 11, 0, 1, 0]]
    var exchange = LinkExchange(
      LinkRequest(
        .command(after: nil), token: token, isHeld: true, mtu: 23, table: LinkPair.table))
    _ = exchange.start()
    #expect(LinkPair.sent(exchange.handle(.connected)) == subscribe)
    #expect(LinkPair.sent(exchange.handle(.received([0x13]))) == [[0x0A, 5, 0]])
    let challenge = command.counter.littleEndianBytes + [UInt8](repeating: 3, count: 32)
    #expect(
      LinkPair.sent(exchange.handle(.received([0x0B] + challenge.prefix(22)))) == [
        [0x0C, 5, 0, 22, 0]
      ])
    _ = exchange.handle(.received([0x0D] + challenge.dropFirst(22)))
    _ = exchange.handle(.proved(.success(command)))
    #expect(exchange.commandCount == 1)
    for _ in 1...2 {
      _ = exchange.handle(.disconnected)
      #expect(LinkPair.sent(exchange.handle(.connected)) == subscribe)
    }
    _ = exchange.handle(.disconnected)
    #expect(LinkPair.sent(exchange.handle(.connected)).first?.first == 0x10)
  }

  @Test("timeouts of a search on an earlier link do not count on the next one")
  func searches() throws {
    let delegation = Delegation(
      try Delegation.Loan(
        of: CommandClasses(rawValue: 1), to: token.digest, uses: 3, until: 1_900_000_000,
        serial: 1),
      from: try Delegation.Lender(
        .random(), at: .random(), generation: 1, token: token.digest),
      with: try HardwareSecrets(
        integrityKey: .random(count: 16), integrity: .random(count: 32),
        deviceKey: .random(count: 16), device: .random(count: 32), form: .diversified))
    let find: [[UInt8]] = [[0x08, 20, 0, 0xFF, 0xFF, 0x03, 0x28]]
    for (task, seals) in [
      (LinkTask.command(after: nil), true), (.delegation(delegation, .courier), false),
    ] {
      var exchange = LinkExchange(
        LinkRequest(
          task, token: token, isHeld: true, mtu: 23,
          link: OpenLink(mtu: 23, table: LinkPair.table), seals: seals))
      var begun = exchange.start()
      #expect(LinkPair.sent(begun) == find)
      for _ in 1...2 {
        begun = exchange.handle(.timeout(timer(begun)))
        #expect(LinkPair.sent(begun) == find)
      }
      _ = exchange.handle(.disconnected)
      _ = exchange.handle(.connected)
      begun = exchange.handle(.received([0x13]))
      #expect(LinkPair.sent(begun) == find)
      for _ in 1...2 {
        begun = exchange.handle(.timeout(timer(begun)))
        #expect(LinkPair.sent(begun) == find)
      }
      let doubted = exchange.handle(.timeout(timer(begun)))
      #expect(LinkPair.sent(doubted).isEmpty && exchange.table == nil)
    }
  }
}
