// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinkBench
import LinkSimulation
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("An exchange over a bad link")
  struct ExchangeTests {
    /// A hundred sessions in the quick form; `PROOFLINK_SESSIONS=20000` for the whole.
    private let sessions =
      ProcessInfo.processInfo.environment["PROOFLINK_SESSIONS"].flatMap { Int($0) } ?? 2000
    private let seed =
      ProcessInfo.processInfo.environment["PROOFLINK_SEED"].flatMap { UInt64($0) } ?? 1

    @Test(
      "first contact and repeat stay within the page's budget",
      arguments: [(23, false, 35), (185, true, 8)])
    func budget(mtu: Int, isHeld: Bool, pdus: Int) throws {
      let bench = try Bench(seed: 1)
      let token = try bench.token()
      // Discovery is paid once: the page's budget covers the exchange after it.
      let (table, discovery) = try discovered(bench, mtu: mtu)
      #expect(discovery == (mtu == 23 ? 20 : 8))
      if isHeld { try first(bench, token) }
      var model = LinkModel(bench, faults: LinkFaults(), seed: 1)
      var exchange = LinkExchange(bench.request(token, isHeld: isHeld, mtu: mtu, table: table))
      guard case .receipt(let receipt) = try model.play(&exchange, of: bench.app(token)).get()
      else {
        Issue.record("no receipt")
        return
      }
      #expect(receipt.verdict == .accepted)
      #expect(exchange.pduCount == pdus)
    }

    /// The table that discovery finds, and the number of PDUs it took.
    private func discovered(_ bench: Bench, mtu: Int) throws -> (AttributeTable, Int) {
      func connect(_ table: AttributeTable?) throws -> (AttributeTable, Int) {
        let token = try bench.token()
        var model = LinkModel(bench, faults: LinkFaults(), seed: 1)
        var exchange = LinkExchange(
          LinkRequest(
            .connect, token: token, isHeld: false, mtu: mtu, table: table))
        _ = try model.play(&exchange).get()
        let found = exchange.table
        return (try #require(found), exchange.pduCount)
      }
      let (table, all) = try connect(nil)
      return (table, try all - connect(table).1)
    }

    @Test("at every MTU a command is done once")
    func everyMTU() throws {
      let bench = try Bench(seed: 2)
      let token = try bench.token()
      for mtu in 23...517 {
        var model = LinkModel(bench, faults: LinkFaults(), seed: UInt64(mtu))
        var exchange = LinkExchange(bench.request(token, isHeld: mtu % 2 == 0, mtu: mtu))
        let done = bench.done
        _ = try model.play(&exchange, of: bench.app(token)).get()
        #expect(bench.done == done + 1, "MTU \(mtu)")
      }
    }

    @Test("a command is never done twice, whatever the link does, and what is told is so")
    func atMostOnce() throws {
      print("sessions: \(sessions), seed: \(seed)")
      var dice = LinkDice(seed: seed)
      var succeeded = 0
      var told = 0
      var unknown = 0
      let bench = try Bench(seed: seed)
      let token = try bench.token(uses: .limited(1_000_000))
      for session in 0..<sessions {
        let faults = LinkFaults.drawn(&dice)
        var model = LinkModel(bench, faults: faults, seed: dice.roll())
        var exchange = LinkExchange(
          bench.request(
            token, isHeld: session > 0 && dice.happens(800), mtu: 23 + dice.below(200)))
        let before = bench.done
        let result = try model.play(&exchange, of: bench.app(token))
        let done = bench.done - before
        #expect(done <= 1, "session \(session)")
        switch result {
        case .success:
          succeeded += 1
          #expect(done == 1, "session \(session)")
        case .failure(let error) where error.commandMayBeDone:
          unknown += 1
        case .failure:
          told += 1
          #expect(done == 0, "session \(session): \(result)")
        }
      }
      print("\(succeeded) done, \(told) not done and told so, \(unknown) left open")
      // Most sessions have faults, and most faults are survived.
      #expect(succeeded > sessions * 3 / 4)
    }

    @Test("the link may end at any PDU: the next one resumes, and the command is done once")
    func endsAnywhere() throws {
      for mtu in [23, 185] {
        for at in 1...45 {
          let bench = try Bench(seed: UInt64(at))
          let token = try bench.token(uses: .limited(100))
          var faults = LinkFaults()
          faults.endsAtPDU = at
          // Every link ends there: what does not fit into one link is told, not repeated.
          var model = LinkModel(bench, faults: faults, seed: 3)
          var exchange = LinkExchange(bench.request(token, isHeld: false, mtu: mtu))
          let result = try model.play(&exchange, of: bench.app(token))
          #expect(bench.done <= 1, "MTU \(mtu), PDU \(at)")
          if case .success = result { #expect(bench.done == 1) }
          // The next call on a good link works.
          var next = LinkModel(bench, faults: LinkFaults(), seed: 4)
          var again = LinkExchange(bench.request(token, isHeld: exchange.isHeld, mtu: mtu))
          let before = bench.done
          #expect(throws: Never.self) { try next.play(&again, of: bench.app(token)).get() }
          #expect(bench.done == before + 1)
        }
      }
    }

    @Test(
      "attributes remembered wrongly, in any place, cost links, and are not kept",
      arguments: [false, true])
    func wrongTable(isHeld: Bool) throws {
      let bench = try Bench(seed: 5)
      let token = try bench.token()
      if isHeld { try first(bench, token) }
      let right = try discovered(bench, mtu: 185).0
      let characteristics = AttributeTable.Characteristic.allCases
      var wrong: [AttributeTable] = [UInt16](1...40).map {
        AttributeTable(values: right.values, verdictDescriptor: $0)
      }
      for each in characteristics {
        for handle in Set(right.values.values).union([1, 0xFFFF]) {
          var values = right.values
          values[each] = handle
          wrong.append(AttributeTable(values: values, verdictDescriptor: right.verdictDescriptor))
        }
      }
      for table in wrong {
        let done = bench.done
        var model = LinkModel(bench, faults: LinkFaults(), seed: 6)
        var exchange = LinkExchange(bench.request(token, isHeld: isHeld, table: table))
        guard case .success(.receipt(let receipt)) = try model.play(&exchange, of: bench.app(token))
        else {
          Issue.record("no receipt with \(table)")
          continue
        }
        #expect(receipt.verdict == .accepted, "\(table)")
        #expect(bench.done == done + 1, "\(table)")
      }
    }

    @Test("a response that comes twice while services are looked for is not taken for the next")
    func repeatedService() throws {
      let bench = try Bench(seed: 7)
      var exchange = LinkExchange(
        LinkRequest(
          .connect, token: try bench.token(), isHeld: false, mtu: 23))
      func sent(_ actions: [LinkExchange.Action]) -> [[UInt8]] {
        actions.compactMap { if case .send(let pdu) = $0 { pdu } else { nil } }
      }
      _ = exchange.start()
      #expect(sent(exchange.handle(.connected)) == [[0x10, 1, 0, 0xFF, 0xFF, 0, 0x28]])
      // Another vendor's service, 1 to 5; ours stands behind it.
      let others: [UInt8] = [0x11, 6, 1, 0, 5, 0, 0x00, 0x18]
      #expect(
        sent(exchange.handle(.received(others))) == [[0x10, 6, 0, 0xFF, 0xFF, 0, 0x28]])
      #expect(exchange.handle(.received(others)).isEmpty)
    }

    @Test(
      "a descriptor is taken only where its characteristic can have one", arguments: [12, 13, 14])
    func descriptorPlace(handle: UInt8) throws {
      let bench = try Bench(seed: 7)
      var exchange = LinkExchange(
        LinkRequest(.connect, token: try bench.token(), isHeld: false, mtu: 23))
      func sent(_ pdu: [UInt8]) -> [[UInt8]] {
        exchange.handle(.received(pdu)).compactMap {
          if case .send(let pdu) = $0 { pdu } else { nil }
        }
      }
      func uuid(_ number: UInt8) -> [UInt8] {
        [
          0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E, number, 0, 0x19,
          0xDB,
        ]
      }
      _ = exchange.start()
      _ = exchange.handle(.connected)
      #expect(sent([0x11, 20, 1, 0, 30, 0] + uuid(1)) == [[0x08, 1, 0, 30, 0, 0x03, 0x28]])
      // Each declaration is followed by its value and one more handle; the verdict's value is 12.
      let entries = (0..<8).flatMap { place -> [UInt8] in
        [3 * place + 2, 0, 0x10, 3 * place + 3, 0] + uuid(place + 2)
      }
      #expect(sent([0x09, 21] + entries) == [[0x08, 13, 0, 13, 0, 0x02, 0x29]])
      let subscription: [[UInt8]] = handle == 13 ? [[0x12, 13, 0, 1, 0]] : []
      #expect(sent([0x09, 4, handle, 0, 0, 0]) == subscription)
    }

    @Test("the same seed gives the same trace, another seed another")
    func sameTrace() throws {
      func trace(_ seed: UInt64) throws -> [UInt64] {
        let bench = try Bench(seed: 5)
        let token = try Self.fixedToken(bench)
        var dice = LinkDice(seed: seed)
        return try (0..<100).map { session in
          var model = LinkModel(bench, faults: .drawn(&dice), seed: dice.roll())
          var exchange = LinkExchange(
            bench.request(token, isHeld: session % 3 > 0, mtu: 23 + dice.below(200)))
          _ = try model.play(&exchange, of: bench.app(token))
          return model.trace
        }
      }
      let first = try trace(8)
      #expect(Set(first).count == first.count)
      #expect(try trace(8) == first)
      #expect(try trace(9) != first)
    }

    @Test("messages are no longer than the page's budget")
    func sizes() throws {
      let bench = try Bench(seed: 1)
      #expect(try bench.token().message.bytes.count <= 400)
      let challenge = try Challenge(counter: 1, bytes: [UInt8](repeating: 3, count: 32))
      #expect(challenge.message.bytes.count <= 40)
      for count in [0, 8, Command.byteCountMax] {
        let command = try Command([UInt8](repeating: 1, count: count), class: 1)
        for kind in ProofKind.allCases {
          let proved = ProvedCommand(
            command, proving: kind, from: bench.instance, to: bench.identity.id,
            answering: challenge, with: bench.secrets)
          #expect(proved.message.bytes.count <= 100 + count)
          let answer = Answer(.accepted, counter: 1, to: proved.nonce, with: bench.secrets)
          #expect(answer.message.bytes.count <= 60)
        }
      }
    }

    @Test("the app can distinguish the causes that it can act on")
    func errors() throws {
      let bench = try Bench(seed: 6)
      let token = try bench.token(uses: .limited(1))
      try first(bench, token)
      #expect(throws: LinkError.refused(.usesExhausted, isAuthenticated: true)) {
        try once(bench, token, isHeld: true)
      }
      let older = try bench.token(generation: 1)
      #expect(throws: LinkError.refused(.superseded, .olderGeneration, isAuthenticated: false)) {
        try once(bench, older, isHeld: false)
      }
      #expect(throws: LinkError(.linkLost)) {
        var faults = LinkFaults()
        faults.loss = 1000
        var model = LinkModel(bench, faults: faults, seed: 1)
        var exchange = LinkExchange(bench.request(token, isHeld: true))
        _ = try model.play(&exchange, of: bench.app(token)).get()
      }
    }

    @Test("a failed exchange names the refused token, has no link, and hears nothing more")
    func failed() throws {
      let bench = try Bench(seed: 6)
      try first(bench, try bench.token(generation: 2))
      let older = try bench.token(generation: 1)
      var model = LinkModel(bench, faults: LinkFaults(), seed: 1)
      var exchange = LinkExchange(bench.request(older, isHeld: false))
      let error = #expect(throws: LinkError.self) {
        try model.play(&exchange, of: bench.app(older)).get()
      }
      #expect(error?.reference == HardwareReference.of(older))
      let link = exchange.link
      #expect(link == nil)
      for event in [LinkExchange.Event.connected, .disconnected, .received([0x1B, 0x0E, 0])] {
        let actions = exchange.handle(event)
        #expect(actions.isEmpty)
      }
    }

    @Test("hardware that answers \"too new\" is told as too old, and nothing is sent again")
    func tooNew() throws {
      let bench = try Bench(seed: 6)
      let (table, _) = try discovered(bench, mtu: 185)
      let token = try bench.token()
      let order = try Order(.epoch(bench.identity.id), issued: 1_800_000_000)
        .signed(by: bench.issuer)
      for task in [LinkTask.order(order), .present] {
        var exchange = LinkExchange(
          LinkRequest(
            task, token: token, isHeld: false, mtu: 185, link: OpenLink(mtu: 185, table: table)))
        _ = exchange.start()
        var ended: Result<LinkOutcome, LinkError>?
        for event in try notifications(of: .tooNew, by: table) {
          var actions = exchange.handle(event)
          if actions.contains(where: { if case .check = $0 { true } else { false } }) {
            actions = exchange.handle(.checked(.success(nil)))
          }
          for case .finish(let result) in actions { ended = result }
        }
        #expect(throws: LinkError.refused(.tooNew, isAuthenticated: false)) { try ended?.get() }
      }
    }

    /// Notifications of one verdict, as packets of one link.
    private func notifications(
      of verdict: Verdict, receipt: UInt8 = 0, by table: AttributeTable
    ) throws -> [LinkExchange.Event] {
      let bytes = [verdict.rawValue] + [UInt8](repeating: 0, count: 41) + [receipt]
      let handle = table[.verdict]
      return try Message(.verdict, bytes).packets(of: 182).map {
        .received([0x1B, UInt8(handle & 0xFF), UInt8(handle >> 8)] + $0)
      }
    }

    @Test("answers to a token that do not authenticate do not prolong the wait for the right one")
    func forgedAnswers() throws {
      let bench = try Bench(seed: 8)
      let (table, _) = try discovered(bench, mtu: 185)
      var exchange = LinkExchange(
        LinkRequest(
          .present, token: try bench.token(), isHeld: false, mtu: 185,
          link: OpenLink(mtu: 185, table: table)))
      let timers = exchange.start().compactMap { action -> Int? in
        if case .setTimer(let number) = action { number } else { nil }
      }
      for _ in 0..<3 {
        for event in try notifications(of: .held, receipt: 1, by: table) {
          for case .check in exchange.handle(event) {
            #expect(exchange.handle(.checked(.success(nil))).isEmpty)
          }
        }
      }
      // The first timer still counts: it ends the link, whose table is in doubt.
      let ended = exchange.handle(.timeout(try #require(timers.last)))
      #expect(ended.contains { if case .disconnect = $0 { true } else { false } })
    }

    @Test("a command that is proved after its link has ended is not sent")
    func lateProof() throws {
      let bench = try Bench(seed: 9)
      let (table, _) = try discovered(bench, mtu: 185)
      let token = try bench.token()
      try first(bench, token)
      var exchange = LinkExchange(
        LinkRequest(
          .command(after: nil), token: token, isHeld: true, mtu: 185,
          link: OpenLink(mtu: 185, table: table)))
      _ = exchange.start()
      let challenge = [UInt8](repeating: 1, count: 8 + Challenge.byteCount)
      guard case .prove(let asked)? = exchange.handle(.received([0x0B] + challenge)).first else {
        Issue.record("the challenge was not taken")
        return
      }
      _ = exchange.handle(.disconnected)
      let proved = try bench.app(token).prove(asked)
      #expect(exchange.handle(.proved(.success(proved))).isEmpty)
      #expect(exchange.openRecall == nil && exchange.commandCount == 0)
    }

    private func first(_ bench: Bench, _ token: MeasurementToken) throws {
      try once(bench, token, isHeld: false)
    }

    private func once(_ bench: Bench, _ token: MeasurementToken, isHeld: Bool) throws {
      var model = LinkModel(bench, faults: LinkFaults(), seed: 1)
      var exchange = LinkExchange(bench.request(token, isHeld: isHeld))
      _ = try model.play(&exchange, of: bench.app(token)).get()
    }

    private static func fixedToken(_ bench: Bench) throws -> MeasurementToken {
      try MeasurementGrant(
        for: bench.identity.id, instance: bench.instance, mode: .production,
        integrityClasses: .all, attempts: 3, uses: .unlimited, generation: 1,
        issued: 1_700_000_000, secrets: bench.secrets
      ).sealed(
        to: bench.identity, signedBy: bench.issuer,
        ephemeral: SecretBytes(copying: [UInt8](repeating: 8, count: 32).span))
    }
  }
}

extension LinkFaults {
  /// Any mixture, from none to terrible.
  static func drawn(_ dice: inout LinkDice) -> LinkFaults {
    var faults = LinkFaults()
    func chance(_ most: Int) -> Int { dice.happens(500) ? dice.below(most) : 0 }
    faults.loss = chance(60)
    faults.duplication = chance(100)
    faults.reordering = chance(60)
    faults.corruption = chance(40)
    faults.truncation = chance(40)
    faults.disconnection = chance(40)
    faults.powerLoss = chance(15)
    faults.hostility = chance(100)
    faults.interval = [8, 15, 30, 45][dice.below(4)]
    faults.latency = dice.below(60)
    faults.slowness = dice.happens(200) ? dice.below(400) : 0
    return faults
  }
}
