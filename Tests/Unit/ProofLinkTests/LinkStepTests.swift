// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// An exchange whose link is the test: each PDU and each action is compared.
@Suite("Each step of an exchange")
struct LinkStepTests {
  private static func exchange(
    _ pair: LinkPair, _ task: LinkTask = .command(after: nil),
    table: AttributeTable = LinkPair.table
  ) -> LinkExchange {
    LinkExchange(
      LinkRequest(
        task, token: pair.token, isHeld: true, mtu: 185, link: OpenLink(mtu: 185, table: table)))
  }

  /// The notifications of an answer.
  private static func answer(
    _ verdict: Verdict, detail: UInt16 = 0, counter: UInt64 = 0, to nonce: ProofNonce = .random(),
    with secrets: HardwareSecrets? = nil
  ) throws -> LinkExchange.Event {
    let message = Answer(
      verdict, detail: detail, counter: counter, to: nonce, with: secrets
    ).message
    let packets = try message.packets(of: 182)
    #expect(packets.count == 1)
    return .received([0x1B, 10, 0] + packets[0])
  }

  /// The words for actions: what is sent, and the end.
  private static func words(_ actions: [LinkExchange.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .connect: "connect"
      case .disconnect: "disconnect"
      case .send(let pdu): "send \(pdu.prefix(3))"
      case .setTimer: "timer"
      case .prove(let challenge): "prove \(challenge.counter)"
      case .proveSealed: "prove sealed"
      case .sealNext: "seal next"
      case .check: "check"
      case .checkDelegation: "check delegation"
      case .remeasure: "remeasure"
      case .recallBefore: "recall before"
      case .finish(.success(let outcome)): "success \(outcome)"
      case .finish(.failure(let error)): "failure \(error.code)"
      }
    }
  }

  private static func failure(_ actions: [LinkExchange.Action]) -> LinkError? {
    for case .finish(.failure(let error)) in actions { return error }
    return nil
  }

  /// A command on its way.
  private static func commanding(
    _ exchange: inout LinkExchange, _ command: ProvedCommand
  ) throws {
    let read = exchange.start()
    #expect(words(read) == ["timer", "send [10, 5, 0]"])
    let challenge = command.counter.littleEndianBytes + [UInt8](repeating: 3, count: 32)
    let asked = exchange.handle(.received([0x0B] + challenge))
    #expect(words(asked) == ["prove \(command.counter)"])
    let sent = words(exchange.handle(.proved(.success(command))))
    #expect(sent.first == "timer" && sent.count > 1)
    #expect(sent.dropFirst().allSatisfy { $0 == "send [82, 8, 0]" })
  }

  @Test("a command that busy hardware did not execute is told as busy, for five seconds")
  func busy() throws {
    let pair = try LinkPair()
    let command = try pair.proved()
    for hint in [Verdict.busy, .fault, .tooNew] {
      var exchange = Self.exchange(pair)
      try Self.commanding(&exchange, command)
      // A hint is forgeable: the app asks for the outcome.
      let asked = exchange.handle(try Self.answer(hint, counter: 7))
      #expect(Self.words(asked).last == "send [82, 17, 0]")
      let ended = exchange.handle(
        try Self.answer(.notExecuted, counter: 7, to: command.nonce, with: pair.secrets))
      #expect(Self.words(ended).first == "disconnect")
      let error = try #require(Self.failure(ended))
      #expect(error.verdict == hint && !error.commandMayBeDone && !error.isAuthenticated)
      if hint == .busy { #expect(error == .busy(seconds: 5)) }
      #expect(error.code == "LOCK-\(hint.rawValue)" + (hint == .busy ? ".5" : ""))
    }
  }

  @Test("answers of another counter, or under another key, settle nothing")
  func others() throws {
    let pair = try LinkPair()
    let command = try pair.proved()
    var exchange = Self.exchange(pair)
    try Self.commanding(&exchange, command)
    #expect(
      exchange.handle(
        try Self.answer(.accepted, counter: 6, to: command.nonce, with: pair.secrets)
      ).isEmpty)
    // An answer with a receipt of another key: the app asks for the outcome, and is not done.
    let asked = exchange.handle(
      try Self.answer(.accepted, counter: 7, to: command.nonce, with: pair.other))
    #expect(Self.words(asked).first == "timer" && exchange.openRecall?.counter == 7)
    #expect(
      exchange.handle(
        try Self.answer(.accepted, counter: 8, to: command.nonce, with: pair.secrets)
      ).isEmpty)
    let ended = exchange.handle(
      try Self.answer(.accepted, counter: 7, to: command.nonce, with: pair.secrets))
    guard case .finish(.success(.receipt(let receipt)))? = ended.last else {
      Issue.record("\(Self.words(ended))")
      return
    }
    #expect(receipt.verdict == .accepted && exchange.openRecall == nil)
    #expect(exchange.acceptance?.verdict == .accepted && !exchange.hasSeenCopy)
  }

  @Test("each verdict of acceptance ends the exchange, and those for copies are noted")
  func accepted() throws {
    let pair = try LinkPair()
    for (verdict, isCopy) in [
      (Verdict.accepted, false), (.acceptedDeviceOnly, false), (.acceptedCopy, true),
      (.acceptedDeviceOnlyCopy, true),
    ] {
      let command = try pair.proved()
      var exchange = Self.exchange(pair)
      try Self.commanding(&exchange, command)
      let ended = exchange.handle(
        try Self.answer(verdict, counter: 7, to: command.nonce, with: pair.secrets))
      guard case .finish(.success(.receipt(let receipt)))? = ended.last else {
        Issue.record("\(Self.words(ended))")
        continue
      }
      #expect(receipt.verdict == verdict && exchange.hasSeenCopy == isCopy)
      #expect(exchange.link != nil && exchange.commandCount == 1)
    }
  }

  @Test("a command that is stale is asked about, and proved again once it was not executed")
  func stale() throws {
    let pair = try LinkPair()
    let command = try pair.proved()
    var exchange = Self.exchange(pair)
    try Self.commanding(&exchange, command)
    let asked = exchange.handle(
      try Self.answer(.stale, counter: 7, to: command.nonce, with: pair.secrets))
    #expect(Self.words(asked).dropFirst().first == "send [82, 17, 0]")
    let again = exchange.handle(
      try Self.answer(.notExecuted, counter: 7, to: command.nonce, with: pair.secrets))
    #expect(Self.words(again) == ["timer", "send [10, 5, 0]"])
    #expect(exchange.openRecall == nil)
    // A second command that never arrived puts the table in doubt.
    let second = try pair.proved(8)
    let challenge = UInt64(8).littleEndianBytes + [UInt8](repeating: 3, count: 32)
    _ = exchange.handle(.received([0x0B] + challenge))
    _ = exchange.handle(.proved(.success(second)))
    _ = exchange.handle(
      try Self.answer(.stale, counter: 8, to: second.nonce, with: pair.secrets))
    let doubt = exchange.handle(
      try Self.answer(.notExecuted, counter: 8, to: second.nonce, with: pair.secrets))
    #expect(Self.words(doubt) == ["disconnect", "timer", "connect"] && exchange.table == nil)
  }

  @Test("a refused recall ends with the refusal, and a damaged one is asked three times")
  func recalls() throws {
    let pair = try LinkPair()
    let command = try pair.proved()
    func recalling() throws -> [LinkExchange.Event] {
      [try Self.answer(.busy, counter: 7)]
    }
    for detail in [0, 1, 9] as [UInt16] {
      var exchange = Self.exchange(pair)
      try Self.commanding(&exchange, command)
      for event in try recalling() { _ = exchange.handle(event) }
      let ended = exchange.handle(try Self.answer(.busy, detail: detail, counter: 7))
      let error = try #require(Self.failure(ended))
      #expect(error.verdict == .busy && error.commandMayBeDone)
      #expect(error.code == "LOCK-\(Verdict.busy.rawValue).\(max(1, detail))")
    }
    var exchange = Self.exchange(pair)
    try Self.commanding(&exchange, command)
    for event in try recalling() { _ = exchange.handle(event) }
    #expect(exchange.handle(try Self.answer(.stale, counter: 7)).isEmpty)
    #expect(exchange.handle(try Self.answer(.malformed, counter: 7)).isEmpty)
    #expect(exchange.handle(try Self.answer(.malformed, counter: 7)).isEmpty)
    let error = Self.failure(exchange.handle(try Self.answer(.malformed, counter: 7)))
    #expect(error?.verdict == .malformed && error?.commandMayBeDone == true)
    #expect(LinkExchange.unreadRecallCountMax == 3)
  }

  @Test("hardware that no longer knows a command ends the exchange, and no new link helps")
  func forgotten() throws {
    let pair = try LinkPair()
    let command = try pair.proved()
    var exchange = Self.exchange(pair)
    try Self.commanding(&exchange, command)
    _ = exchange.handle(try Self.answer(.busy, counter: 7))
    let ended = exchange.handle(
      try Self.answer(.stale, counter: 7, to: command.nonce, with: pair.secrets))
    let error = try #require(Self.failure(ended))
    #expect(error.reason == .linkLost && error.commandMayBeDone)
    #expect(exchange.isForgotten && !exchange.mayRestart)
  }

  @Test("a proof that could not be made ends the exchange with its error")
  func unproved() throws {
    let pair = try LinkPair()
    var exchange = Self.exchange(pair)
    _ = exchange.start()
    let challenge = UInt64(7).littleEndianBytes + [UInt8](repeating: 3, count: 32)
    _ = exchange.handle(.received([0x0B] + challenge))
    let error = LinkError.notMeasured(.measurementEnded)
    let ended = exchange.handle(.proved(.failure(error)))
    #expect(Self.failure(ended) == error && ended.count == 1 && exchange.link != nil)
    #expect(exchange.handle(.disconnected).isEmpty && exchange.handle(.connected).isEmpty)
  }

  @Test("a timer that was replaced means nothing, and the newest of a read doubts the table")
  func timers() throws {
    let pair = try LinkPair()
    var exchange = Self.exchange(pair, .status)
    let timers = exchange.start().compactMap { action -> Int? in
      if case .setTimer(let number) = action { number } else { nil }
    }
    let timer = try #require(timers.last)
    #expect(timers.count == 1)
    for number in [timer - 1, timer + 1] { #expect(exchange.handle(.timeout(number)).isEmpty) }
    #expect(Self.words(exchange.handle(.timeout(timer))) == ["disconnect", "timer", "connect"])
    #expect(exchange.table == nil && exchange.link == nil)
    #expect(exchange.handle(.timeout(timer)).isEmpty)
  }

  @Test("twelve links are opened, and the next loss ends the exchange")
  func links() throws {
    let pair = try LinkPair()
    var exchange = LinkExchange(LinkRequest(.connect, token: pair.token, isHeld: true))
    #expect(Self.words(exchange.start()) == ["timer", "connect"])
    for _ in 2...12 {
      #expect(Self.words(exchange.handle(.disconnected)) == ["timer", "connect"])
    }
    let ended = exchange.handle(.disconnected)
    #expect(Self.words(ended).first == "disconnect")
    #expect(Self.failure(ended)?.reason == .linkLost)
    #expect(LinkExchange.linkCountMax == 12 && LinkExchange.commandCountMax == 6)
    #expect(LinkExchange.unreadReceiptCountMax == 3 && LinkExchange.logPartCountMax == 64)
    // A restart has as many again.
    #expect(Self.words(exchange.restart()) == ["timer", "connect"])
  }

  @Test("a table is kept over two failed links, and found again on the third")
  func failedLinks() throws {
    let pair = try LinkPair()
    var exchange = LinkExchange(
      LinkRequest(.connect, token: pair.token, isHeld: true, mtu: 23, table: LinkPair.table))
    _ = exchange.start()
    for _ in 1...2 {
      // The table is known, so the descriptor is written at once.
      #expect(Self.words(exchange.handle(.connected)) == ["timer", "timer", "send [18, 11, 0]"])
      _ = exchange.handle(.disconnected)
    }
    #expect(Self.words(exchange.handle(.connected)) == ["timer", "timer", "send [16, 1, 0]"])
  }

  @Test("a value comes in pieces of the MTU, and one of another length is none")
  func pieces() throws {
    let pair = try LinkPair()
    let link = OpenLink(mtu: 23, table: LinkPair.table)
    var exchange = LinkExchange(
      LinkRequest(.status, token: pair.token, isHeld: true, mtu: 23, link: link))
    #expect(Self.words(exchange.start()) == ["timer", "send [10, 13, 0]"])
    // 22 bytes fill a response at this MTU; 21 were cut.
    #expect(exchange.handle(.received([0x0B] + [UInt8](repeating: 0, count: 21))).isEmpty)
    #expect(exchange.handle(.received([0x0D] + [UInt8](repeating: 0, count: 22))).isEmpty)
    let more = exchange.handle(.received([0x0B] + [UInt8](repeating: 0, count: 22)))
    guard case .send(let pdu)? = more.last else {
      Issue.record("\(Self.words(more))")
      return
    }
    #expect(pdu == [0x0C, 13, 0, 22, 0] && more.count == 2)
    #expect(exchange.handle(.received([0x0B] + [UInt8](repeating: 0, count: 6))).isEmpty)
    #expect(exchange.handle(.received([0x0D] + [UInt8](repeating: 0, count: 7))).isEmpty)
    // A refusal of the blob doubts the table; one of another request does not.
    #expect(exchange.handle(.received([0x01, 0x0A, 13, 0, 0x0E])).isEmpty)
    #expect(
      Self.words(exchange.handle(.received([0x01, 0x0C, 13, 0, 0x0E]))).first == "disconnect")
  }

  @Test("the log is looked for behind all others, and is missing where nothing is behind")
  func findLog() throws {
    let pair = try LinkPair()
    let task = LinkTask.log(from: 0, .random())
    var exchange = Self.exchange(pair, task)
    #expect(LinkPair.sent(exchange.start()) == [[0x08, 20, 0, 0xFF, 0xFF, 0x03, 0x28]])
    // Another characteristic: the search goes on behind its value.
    let other = [22, 0, 0x10, 23, 0] + AttributeTable.uuid(12)
    #expect(
      LinkPair.sent(exchange.handle(.received([0x09, 21] + other)))
        == [[0x08, 24, 0, 0xFF, 0xFF, 0x03, 0x28]])
    let own = [25, 0, 0x10, 26, 0] + AttributeTable.uuid(11)
    let asked = LinkPair.sent(exchange.handle(.received([0x09, 21] + own)))
    #expect(asked.first?.prefix(3) == [0x52, 26, 0])
    for refusal in [
      (Verdict.notPermitted, LinkError.Reason.logNotPermitted), (.malformed, .logMissing),
      (.busy, .logNotPermitted), (.fault, .hardwareFault),
    ] {
      var other = Self.exchange(pair, task)
      _ = other.start()
      _ = other.handle(.received([0x09, 21] + own))
      // An answer to a command says nothing of the log.
      #expect(other.handle(try Self.answer(refusal.0, counter: 1)).isEmpty)
      let ended = other.handle(try Self.answer(refusal.0))
      #expect(Self.failure(ended)?.reason == refusal.1)
    }
    var missing = Self.exchange(pair, task)
    _ = missing.start()
    let ended = missing.handle(.received([0x01, 0x08, 20, 0, 0x0A]))
    #expect(Self.failure(ended)?.reason == .logMissing)
    var last = LinkPair.table
    last.values[.reply] = 0xFFFF
    var none = Self.exchange(pair, task, table: last)
    #expect(Self.failure(none.start())?.reason == .logMissing)
    last.values[.reply] = 0xFFFE
    var one = Self.exchange(pair, task, table: last)
    #expect(LinkPair.sent(one.start()) == [[0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0x03, 0x28]])
  }

  @Test("three timeouts end the search for the log, and no new link helps")
  func logTimeouts() throws {
    let pair = try LinkPair()
    var exchange = Self.exchange(pair, .log(from: 0, .random()))
    func timer(_ actions: [LinkExchange.Action]) -> Int {
      for case .setTimer(let number) in actions { return number }
      return -1
    }
    var number = timer(exchange.start())
    for _ in 1...2 {
      let again = exchange.handle(.timeout(number))
      #expect(Self.words(again) == ["timer", "send [8, 20, 0]"])
      number = timer(again)
    }
    let ended = exchange.handle(.timeout(number))
    #expect(Self.failure(ended)?.reason == .linkLost && !exchange.mayRestart)
  }
}

@Suite("The PDUs of the app's end")
struct LinkPDUTests {
  @Test("have the bytes of docs/LINK.md")
  func bytes() {
    #expect(LinkPDU.exchange(mtu: 517) == [0x02, 0x05, 0x02])
    #expect(LinkPDU.groups(0x2800, in: 0x0102...0x0304) == [0x10, 2, 1, 4, 3, 0, 0x28])
    #expect(LinkPDU.attributes(0x2803, in: 0x0102...0x0304) == [0x08, 2, 1, 4, 3, 3, 0x28])
    #expect(LinkPDU.read(0x0102) == [0x0A, 2, 1])
    #expect(LinkPDU.read(0x0102, from: 0x0304) == [0x0C, 2, 1, 4, 3])
    #expect(LinkPDU.subscribe(0x0102) == [0x12, 2, 1, 1, 0])
    #expect(LinkPDU.command(0x0102, [9, 8]) == [0x52, 2, 1, 9, 8])
    #expect(LinkPDU.mtus == 23...517 && LinkPDU.headByteCount == 3)
    #expect(LinkPDU.unlikely == 0x0E && LinkPDU.number([2, 1, 9]) == 0x0102)
  }

  @Test("a notification has a handle and a value, and a refusal names its request")
  func read() {
    #expect(LinkPDU.notified([0x1B, 2, 1, 9, 8], by: 0x0102) == [9, 8])
    #expect(LinkPDU.notified([0x1B, 2, 1, 9], by: 0x0102) == [9])
    for pdu in [[], [0x1B], [0x1B, 2, 1], [0x1D, 2, 1, 9], [0x1B, 1, 2, 9]] as [[UInt8]] {
      #expect(LinkPDU.notified(pdu, by: 0x0102) == nil)
    }
    #expect(LinkPDU.refuses(0x0A, [0x01, 0x0A, 2, 1, 0x0E]))
    for pdu in [
      [], [0x01, 0x0A, 2, 1], [0x01, 0x0A, 2, 1, 0x0E, 0], [0x02, 0x0A, 2, 1, 0x0E],
      [0x01, 0x0B, 2, 1, 0x0E],
    ] as [[UInt8]] { #expect(!LinkPDU.refuses(0x0A, pdu)) }
  }

  @Test("a search takes the wanted value, goes on behind the last one, or ends")
  func search() {
    func search(_ pdu: [UInt8], in range: ClosedRange<UInt16> = 20...0xFFFF) -> LinkOpening.Search {
      LinkOpening.search(pdu, for: 13, in: range)
    }
    func entry(_ place: UInt8, _ number: UInt16) -> [UInt8] {
      [place, 0, 0x10, place + 1, 0] + AttributeTable.uuid(number)
    }
    let head: [UInt8] = [0x09, 21]
    #expect(search(head + entry(20, 13)) == .value(21))
    #expect(search(head + entry(20, 12) + entry(22, 13)) == .value(23))
    #expect(search(head + entry(20, 12)) == .goOn(22...0xFFFF))
    #expect(search(head + entry(20, 12), in: 20...22) == .goOn(22...22))
    #expect(search(head + entry(20, 12), in: 20...21) == .missing)
    #expect(search(head + entry(20, 12), in: 20...20) == .missing)
    // An entry outside the range: a repetition of the response before.
    #expect(search(head + entry(19, 13)) == .nothing)
    #expect(search(head + entry(24, 13), in: 20...23) == .nothing)
    // Values come in ascending order.
    #expect(search(head + entry(22, 12) + entry(20, 13)) == .missing)
    #expect(search([0x01, 0x08, 20, 0, 0x0A]) == .missing)
    for pdu in [[], [0x09], [0x09, 21], [0x0B, 21] + entry(20, 13), head + entry(20, 13) + [0]] {
      #expect(search(pdu) == .nothing)
    }
  }

  @Test("the entries of a response are as long as it says")
  func entries() {
    func entries(_ pdu: [UInt8], atLeast least: Int = 3) -> [[UInt8]]? {
      LinkOpening.entries(pdu, of: 0x09, atLeast: least)?.map { Array($0) }
    }
    #expect(entries([0x09, 3, 1, 2, 3, 4, 5, 6]) == [[1, 2, 3], [4, 5, 6]])
    #expect(entries([0x09, 3, 1, 2, 3]) == [[1, 2, 3]])
    for pdu in [
      [], [0x09], [0x09, 3], [0x09, 2, 1, 2], [0x09, 0, 1], [0x08, 3, 1, 2, 3],
      [0x09, 3, 1, 2, 3, 4], [0x09, 4, 1, 2, 3],
    ] as [[UInt8]] { #expect(entries(pdu) == nil) }
  }

  @Test("a table finds handles by characteristic, in the order of the UUIDs")
  func table() {
    let handles: [UInt16] = [12, 13, 14, 15, 16, 17, 18, 19, 20]
    let table = AttributeTable(handles: handles)
    #expect(table.handles == handles && table[.token] == 12 && table[.reply] == 19)
    #expect(table.verdictDescriptor == 20)
    #expect(AttributeTable(values: [:], verdictDescriptor: 1)[.token] == 0)
    for (number, characteristic) in zip(
      UInt16(2)..., AttributeTable.Characteristic.allCases)
    {
      #expect(characteristic.rawValue == number)
      #expect(AttributeTable.characteristic(of: AttributeTable.uuid(number)[...]) == characteristic)
    }
    for number in [1, 10, 11, 12, 13] as [UInt16] {
      #expect(AttributeTable.characteristic(of: AttributeTable.uuid(number)[...]) == nil)
    }
    #expect(
      AttributeTable.uuid(0x0201) == [
        0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E, 1, 2, 0x19, 0xDB,
      ])
    #expect(AttributeTable.serviceNumber == 1 && AttributeTable.logNumber == 11)
    #expect(AttributeTable.sealedChallengeNumber == 12 && AttributeTable.delegationNumber == 13)
  }
}
