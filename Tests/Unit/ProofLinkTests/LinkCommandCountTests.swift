// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// The commands that one exchange may cost, each on a link that is found anew.
@Suite("Commands that an exchange counts")
struct LinkCommandCountTests {
  private let pair: LinkPair

  init() throws { pair = try LinkPair() }

  /// Opens a link to hardware: challenge at 7, command at 11, verdict at 15, recall at 27.
  private func discover(_ exchange: inout LinkExchange) -> [[UInt8]] {
    _ = exchange.handle(.connected)
    _ = exchange.handle(.received([0x11, 20, 1, 0, 60, 0] + AttributeTable.uuid(1)))
    var declared: [UInt8] = [0x09, 21]
    for place in UInt8(0)..<8 {
      declared += [4 * place + 2, 0, 0x10, 4 * place + 3, 0]
      declared += AttributeTable.uuid(UInt16(place) + 2)
    }
    _ = exchange.handle(.received(declared))
    _ = exchange.handle(.received([0x09, 4, 16, 0, 0, 0]))
    return LinkPair.sent(exchange.handle(.received([0x13])))
  }

  /// Answers the read of a challenge.
  private func challenge(
    _ counter: UInt64, _ exchange: inout LinkExchange
  ) -> [LinkExchange.Action] {
    let bytes = counter.littleEndianBytes + [UInt8](repeating: 3, count: 32)
    _ = exchange.handle(.received([0x0B] + bytes.prefix(22)))
    return exchange.handle(.received([0x0D] + bytes.dropFirst(22)))
  }

  private func answer(
    _ verdict: Verdict, to command: ProvedCommand, _ exchange: inout LinkExchange
  ) throws -> [LinkExchange.Action] {
    let message = Answer(
      verdict, counter: command.counter, to: command.nonce, with: pair.secrets
    ).message
    var actions: [LinkExchange.Action] = []
    for packet in try message.packets(of: 20) {
      actions += exchange.handle(.received([0x1B, 15, 0] + packet))
    }
    return actions
  }

  private func isProof(_ actions: [LinkExchange.Action]) -> Bool {
    if case .prove? = actions.last { true } else { false }
  }

  /// Sends a command that the hardware says it did not execute.
  private func fail(_ counter: UInt64, _ exchange: inout LinkExchange) throws {
    #expect(isProof(challenge(counter, &exchange)))
    let command = try pair.proved(counter)
    let sent = LinkPair.sent(exchange.handle(.proved(.success(command))))
    #expect(!sent.isEmpty && sent.allSatisfy { $0.starts(with: [0x52, 11, 0]) })
    let asked = LinkPair.sent(try answer(.stale, to: command, &exchange))
    #expect(!asked.isEmpty && asked.allSatisfy { $0.starts(with: [0x52, 27, 0]) })
    _ = try answer(.notExecuted, to: command, &exchange)
  }

  @Test(
    "six commands are sent, the seventh challenge ends the exchange, and a restart has six more")
  func six() throws {
    var exchange = LinkExchange(
      LinkRequest(.command(after: nil), token: pair.token, isHeld: true, mtu: 23))
    _ = exchange.start()
    var counter: UInt64 = 7
    for round in 1...2 {
      #expect(discover(&exchange) == [[0x0A, 7, 0]])
      for number in 1...6 {
        try fail(counter, &exchange)
        counter += 1
        #expect(exchange.commandCount == number)
        // The first one is proved again on its link; further ones put the table in doubt.
        if number > 1 { #expect(discover(&exchange) == [[0x0A, 7, 0]]) }
      }
      let ended = challenge(counter, &exchange)
      guard case .finish(.failure(let error))? = ended.last else {
        Issue.record("\(ended)")
        return
      }
      #expect(error.reason == .linkLost && !error.commandMayBeDone && exchange.mayRestart)
      #expect(exchange.link == nil)
      guard round == 1 else { return }
      guard case .connect? = exchange.restart().last else {
        Issue.record("no restart")
        return
      }
      #expect(exchange.commandCount == 0)
    }
  }

  @Test("each PDU is counted, in both directions")
  func pdus() throws {
    var exchange = LinkExchange(
      LinkRequest(.command(after: nil), token: pair.token, isHeld: true, mtu: 23))
    _ = exchange.start()
    _ = discover(&exchange)
    // Service, characteristics, descriptor and subscription, each with its response; then the read.
    #expect(exchange.pduCount == 9)
    _ = challenge(7, &exchange)
    #expect(exchange.pduCount == 12)
  }
}
