// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// The search for characteristics that not every hardware has, and what follows it.
@Suite("Delegations and sealed commands, step by step")
struct LinkSearchTests {
  private let token: MeasurementToken
  private let delegation: Delegation
  private let secrets: HardwareSecrets

  init() throws {
    let pair = try LinkPair()
    token = pair.token
    delegation = try pair.delegation()
    secrets = pair.secrets
  }

  private func exchange(
    _ task: LinkTask, isHeld: Bool = true, seals: Bool = false,
    table: AttributeTable = LinkPair.table
  ) -> LinkExchange {
    LinkExchange(
      LinkRequest(
        task, token: token, isHeld: isHeld, mtu: 185, link: OpenLink(mtu: 185, table: table),
        seals: seals))
  }

  private func failure(_ actions: [LinkExchange.Action]) -> LinkError? {
    for case .finish(.failure(let error)) in actions { return error }
    return nil
  }

  private func timer(_ actions: [LinkExchange.Action]) -> Int {
    for case .setTimer(let number) in actions { return number }
    return -1
  }

  private func answer(
    _ verdict: Verdict, detail: UInt16 = 0, counter: UInt64 = 0, with other: HardwareSecrets? = nil
  ) throws -> LinkExchange.Event {
    let message = Answer(
      verdict, detail: detail, counter: counter, to: delegation.nonce, with: other
    ).message
    return .received([0x1B, 10, 0] + (try message.packets(of: 182)[0]))
  }

  private static let own: [UInt8] = [0x09, 21, 22, 0, 0x10, 23, 0] + AttributeTable.uuid(13)
  private static let seal: [UInt8] = [0x09, 21, 22, 0, 0x10, 23, 0] + AttributeTable.uuid(12)

  /// A delegation that is on its way to handle 23.
  private func delegating(_ party: LoanParty) -> LinkExchange {
    var exchange = exchange(.delegation(delegation, party))
    _ = exchange.start()
    _ = exchange.handle(.received(Self.own))
    return exchange
  }

  @Test("both are looked for behind all other values, in ascending ranges, as often as three times")
  func search() throws {
    let tasks: [(LinkTask, Bool, UInt16, LinkError.Reason)] = [
      (.delegation(delegation, .courier), false, 12, .delegationMissing),
      (.command(after: nil), true, 13, .sealingMissing),
    ]
    for (task, seals, other, missing) in tasks {
      var first = exchange(task, seals: seals)
      var begun = first.start()
      #expect(LinkPair.sent(begun) == [[0x08, 20, 0, 0xFF, 0xFF, 0x03, 0x28]])
      for _ in 1...2 {
        begun = first.handle(.timeout(timer(begun)))
        #expect(LinkPair.sent(begun) == [[0x08, 20, 0, 0xFF, 0xFF, 0x03, 0x28]])
      }
      let doubted = first.handle(.timeout(timer(begun)))
      #expect(LinkPair.sent(doubted).isEmpty && first.table == nil)
      var second = exchange(task, seals: seals)
      _ = second.start()
      let entry: [UInt8] = [0x09, 21, 22, 0, 0x10, 23, 0] + AttributeTable.uuid(other)
      #expect(
        LinkPair.sent(second.handle(.received(entry))) == [[0x08, 24, 0, 0xFF, 0xFF, 0x03, 0x28]])
      #expect(second.handle(.received(entry)).isEmpty)
      let none = second.handle(.received([0x01, 0x08, 24, 0, 0x0A]))
      #expect(failure(none)?.reason == missing)
      var last = LinkPair.table
      last.values[.reply] = 0xFFFF
      var third = exchange(task, seals: seals, table: last)
      #expect(failure(third.start())?.reason == missing)
      last.values[.reply] = 0xFFFE
      var fourth = exchange(task, seals: seals, table: last)
      #expect(LinkPair.sent(fourth.start()) == [[0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0x03, 0x28]])
    }
  }

  @Test("a delegation is written to its handle, and the timer that runs out doubts the table")
  func written() throws {
    var exchange = exchange(.delegation(delegation, .courier))
    _ = exchange.start()
    let written = exchange.handle(.received(Self.own))
    let packets = try delegation.message.packets(of: 182)
    #expect(LinkPair.sent(written) == packets.map { [0x52, 23, 0] + $0 })
    let late = exchange.handle(.timeout(timer(written)))
    #expect(LinkPair.sent(late).isEmpty && exchange.table == nil)
  }

  @Test(
    "a courier learns that it was taken from a receipt that it cannot read, and not from a hint")
  func courier() throws {
    var exchange = delegating(.courier)
    #expect(failure(exchange.handle(try answer(.orderDone))) != nil)
    exchange = delegating(.courier)
    #expect(exchange.handle(try answer(.busy, detail: 1, counter: 1)).isEmpty)
    #expect(exchange.handle(try answer(.accepted, with: secrets)).isEmpty)
    guard
      case .finish(.success(.delegated(nil)))? = exchange.handle(
        try answer(.orderDone, with: secrets)
      ).last
    else {
      Issue.record("not delegated")
      return
    }
  }

  @Test("a reader has the receipt checked: another one counts for nothing, an error ends it")
  func reader() throws {
    for party in [LoanParty.reader, .member] {
      var exchange = delegating(party)
      guard
        case .checkDelegation(let asked, let about)? = exchange.handle(
          try answer(.orderDone, detail: 3, with: secrets)
        ).last
      else {
        Issue.record("not checked")
        return
      }
      #expect(about == delegation && asked.verdict == .orderDone)
      #expect(exchange.handle(.checked(.success(nil))).isEmpty)
      _ = exchange.handle(try answer(.orderDone, detail: 3, with: secrets))
      let receipt = try delegation.receipt(of: asked, with: secrets)
      guard
        case .finish(.success(.delegated(let told?)))? = exchange.handle(
          .checked(.success(receipt))
        ).last
      else {
        Issue.record("not delegated")
        return
      }
      #expect(told == receipt && told.verdict == .orderDone)
      var failed = delegating(party)
      _ = failed.handle(try answer(.orderDone, detail: 3, with: secrets))
      let error = LinkError.notMeasured(.measurementEnded)
      #expect(failure(failed.handle(.checked(.failure(error))))?.reason == .notMeasured)
    }
  }

  @Test("a refusal has its reason, and one of another counter is not heard")
  func refused() throws {
    let refusals: [(Verdict, UInt16, LinkError.Reason)] = [
      (.malformed, 0, .delegationMissing), (.notPermitted, 0, .delegationRefused),
      (.expired, 0, .delegationRefused), (.superseded, 0, .delegationRefused),
      (.notForMe, 0, .delegationRefused), (.deviceDiffers, 0, .delegationRefused),
      (.fault, 0, .hardwareFault), (.busy, 9, .busy), (.busy, 0, .busy),
    ]
    for (verdict, detail, reason) in refusals {
      for party in [LoanParty.courier, .reader, .member] {
        var exchange = delegating(party)
        #expect(exchange.handle(try answer(verdict, detail: detail, counter: 1)).isEmpty)
        let error = failure(exchange.handle(try answer(verdict, detail: detail)))
        #expect(error?.reason == reason && error?.isAuthenticated == false)
        if verdict == .busy { #expect(error == .busy(seconds: max(1, Int(detail)))) }
      }
    }
  }

  @Test("a sealed challenge that is refused for now is busy for a second, any other is missing")
  func seals() throws {
    for (code, reason) in [(0x0E, .busy), (0x0A, .sealingMissing), (0x0F, .sealingMissing)]
      as [(UInt8, LinkError.Reason)]
    {
      var exchange = exchange(.command(after: nil), seals: true)
      _ = exchange.start()
      let read = exchange.handle(.received(Self.seal))
      #expect(LinkPair.sent(read) == [[0x0A, 23, 0]] && exchange.sealHandle == 23)
      let error = failure(exchange.handle(.received([0x01, 0x0A, 23, 0, code])))
      #expect(error?.reason == reason && exchange.sealHandle == 0)
      if reason == .busy { #expect(error == .busy(seconds: 1)) }
    }
    let request = LinkRequest(.command(after: nil), token: token, isHeld: true)
    #expect(request.mtu == 185 && request.sealHandle == 0 && request.table == nil)
    #expect(request.link == nil && !request.seals && request.channel == nil)
    // A handle that is known is read at once.
    var known = LinkExchange(
      LinkRequest(
        .command(after: nil), token: token, isHeld: true,
        link: OpenLink(mtu: 185, table: LinkPair.table), seals: true, sealHandle: 25))
    #expect(LinkPair.sent(known.start()) == [[0x0A, 25, 0]])
  }
}
