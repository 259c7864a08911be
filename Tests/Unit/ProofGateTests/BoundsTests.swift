// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// The bounds of a gate are those of docs/GATE.md and docs/SPEC.md, section 16, with the numbers
/// written out.
@Suite struct BoundsTests {
  @Test("A challenge and a clearance live for an hour at most, the clocks differ by 30 s")
  func lives() {
    #expect(ChallengeDesk.lifeMax == 3_600 && ClearanceDesk.lifeMax == 3_600)
    #expect(ChallengeDesk.Settings().skew == 30 && ClearanceDesk.Settings().skew == 30)
    #expect(ClearanceDesk.Settings().life == 900)
    #expect(GateChallenge.startByteCount == 4)
    #expect(PageHandler.workLife == 600)
  }

  /// docs/SPEC.md, section 16: numbers and lives of the kinds.
  @Test("Kinds of challenges have the numbers, lives and levels of SPEC")
  func kinds() {
    let kinds: [(ChallengeKind, UInt8, UInt32, ClosedRange<UInt8>)] = [
      (.token, 5, 60, 0...0), (.proof, 6, 60, 0...0), (.work, 7, 120, 1...24),
      (.memoryWork, 8, 120, 1...7), (.person, 9, 600, 0...9),
    ]
    for (place, (kind, number, life, levels)) in kinds.enumerated() {
      #expect(kind.rawValue == number && kind.life == life && kind.levels == levels)
      #expect(ChallengeKinds(kind).rawValue == 1 << UInt8(place), "\(kind)")
    }
    #expect(kinds.count == ChallengeKind.allCases.count)
    #expect(ChallengeKinds.all.rawValue == 31)
  }

  /// docs/GATE.md, *Challenges*: up to 6 bits more, a route under load 2, at most level 18.
  @Test("Load adds 6 and 2 bits up to level 18, and up to level 3 of memory work")
  func load() {
    #expect(ChallengeLoad.senderBitsMax == 6 && ChallengeLoad.routeBitsMax == 2)
    #expect(ChallengeLoad.ceiling == 18 && ChallengeLoad.memoryCeiling == 3)
    #expect(ForwardGate.openingLevel == 16 && ForwardGate.youngSeconds == 86_400)
    #expect(DemandTable.countMax == 10_000)
    let load = ChallengeLoad()
    let bits = (0..<1_024).map { _ in load.set(.address("192.0.2.1"), on: 1, at: 100) }
    // The sender's 512th open challenge adds its sixth bit, the route's 1,000th the first.
    #expect(bits[510] == 5 && bits[511] == 6)
    #expect(bits[998] == 6 && bits[999] == 7 && bits[1_023] == 7)
    // A load of its own: no sender of many has a cell that another one filled.
    let other = ChallengeLoad()
    let others = (0..<4_000).map { number in
      other.set(.address("10.0.\(number / 250).\(number % 250)"), on: 2, at: 1)
    }
    #expect(others[999] == 1 && others[1_999] == 2 && others.max() == 2)
  }

  @Test("An installation is young until a whole day after it was first seen")
  func young() throws {
    for (age, status) in [(86_399, 428), (86_400, 200), (86_401, 200)] as [(Int64, Int)] {
      let site = try ForwardSite.needing(seen: ForwardSite.now - age)
      #expect(site.answer("GET", "/x", try site.proven("GET", "/x")).status == status, "\(age)")
    }
  }

  @Test("A demand may be up to 30 s older or newer than the gate's clock")
  func demands() throws {
    let site = try ForwardSite.needing()
    let now = ForwardSite.now
    let key = site.site.own.verdictKeys(for: Site.host)[0]
    let text = GateDemand(.work, level: 3, of: "h.\(site.handle)").text(with: key, at: now)
    for (offset, result) in [(-31, .refused), (-30, .taken), (30, .taken), (31, .refused)]
      as [(Int64, DemandResult)]
    {
      #expect(site.gate.take(demand: text, at: now + offset) == result, "\(offset)")
    }
  }

  /// docs/REQUESTS.md, *Events*, and docs/GATE.md, *Events*.
  @Test("A question about an event has up to 4,096 bytes, an account and a key of up to 128")
  func events() throws {
    #expect(EventText.byteMax == 4_096 && EventText.accountMax == 128 && EventText.keyMax == 128)
    let question = Array(#"{"event":1,"token":"A"}"#.utf8)
    for (count, isRead) in [(4_095, true), (4_096, true), (4_097, false)] {
      let body = question + [UInt8](repeating: 0x20, count: count - question.count)
      #expect(((try? EventText.question(body, from: "shop")) != nil) == isRead, "\(count)")
    }
    func isRead(_ member: String, _ value: Int) -> Bool {
      let value = String(repeating: "A", count: value)
      let body = member == "token" ? "" : #","\#(member)":"\#(value)""#
      let token = member == "token" ? value : "A"
      let text = #"{"event":1,"token":"\#(token)"\#(body)}"#
      return (try? EventText.question(Array(text.utf8), from: "shop")) != nil
    }
    for (member, most) in [("account", 128), ("key", 128), ("token", 256)] {
      #expect(!isRead(member, 0) && isRead(member, 1), "\(member)")
      #expect(isRead(member, most) && !isRead(member, most + 1), "\(member)")
    }
    for (count, isRead) in [(128, true), (129, false)] {
      let body = #"{"account":"\#(String(repeating: "a", count: count))"}"#
      #expect(((try? EventText.account(Array(body.utf8))) != nil) == isRead, "\(count)")
    }
  }

  @Test("An event's number is 0 to 65,535, an address 2 to 45 characters")
  func eventMembers() throws {
    func question(_ members: String) -> EventVerifier.Question? {
      try? EventText.question(Array(#"{"token":"A",\#(members)}"#.utf8), from: "shop")
    }
    #expect(question(#""event":0"#)?.event == 0 && question(#""event":65535"#)?.event == 65_535)
    #expect(question(#""event":-1"#) == nil && question(#""event":65536"#) == nil)
    for (address, isRead) in [
      (":", false), ("::", true), (String(repeating: "1", count: 45), true),
      (String(repeating: "1", count: 46), false),
    ] {
      let found = question(#""event":1,"address":"\#(address)""#)
      #expect((found != nil) == isRead, "\(address)")
    }
  }

  @Test("A form has up to 16,384 bytes and 24 pairs")
  func forms() {
    for (count, isRead) in [(16_384, true), (16_385, false)] {
      let text = Array("a=".utf8) + [UInt8](repeating: 0x61, count: count - 2)
      #expect((FormPairs(text) != nil) == isRead, "\(count)")
    }
    for (count, isRead) in [(24, true), (25, false)] {
      let text = (0..<count).map { "n\($0)=1" }.joined(separator: "&")
      #expect((FormPairs(Array(text.utf8)) != nil) == isRead, "\(count)")
    }
    // Bytes beside the visible ones are escaped.
    #expect(FormPairs(Array("a=!~".utf8))?.values == ["a": "!~"])
    #expect(FormPairs(Array("a= ".utf8)) == nil && FormPairs(Array("a=\u{7F}".utf8)) == nil)
    #expect(FormPairs(Array("a=%1f%7E%aF".utf8)) == nil, "no UTF-8")
    #expect(FormPairs(Array("a=%1f%7E".utf8))?.values == ["a": "\u{1F}~"])
    #expect(FormPairs(Array("a=%C3%a9+%3D".utf8))?.values == ["a": "é ="])
  }

  /// docs/SPEC.md, section 16, *Answer of kind person*.
  @Test("A picture has 280 by 120 pixels, its piece 44, an answer 5 pixels beside it counts")
  func pictures() {
    #expect(SliderPuzzle.width == 280 && SliderPuzzle.height == 120 && SliderPuzzle.side == 44)
    #expect(SliderPuzzle.rulerHeight == 16 && SliderPuzzle.tolerance == 5)
    #expect(SliderPuzzle.places == 48...232 && SliderPuzzle.places.count == 185)
    #expect(SliderRuler.top == 140)
    #expect(SliderRuler.place(of: 35) == 48 && SliderRuler.place(of: 127) == 232)
    let bounds = PersonBounds.Settings()
    #expect(bounds.triesOfSession == 3 && bounds.triesOfClient == 10)
    #expect(bounds.picturesOfClient == 30)
  }

  /// The answer without sight: an id of 80 characters, and 56 characters for each of 7 problems.
  @Test("An answer of a person has up to 478 characters, a place one to three digits")
  func answers() {
    #expect(PersonAnswer.characterMax == 478)
    let id = String(repeating: "i", count: 80)
    for (count, isRead) in [(392, true), (393, false)] {
      let text = "work \(id) " + String(repeating: "s", count: count)
      #expect((PersonAnswer(text) != nil) == isRead, "\(count)")
    }
    #expect(PersonAnswer("work \(id.dropLast()) s") == nil && PersonAnswer("work \(id)i s") == nil)
    let mark = String(repeating: "m", count: 22)
    #expect(PersonAnswer("slider 999 \(mark)") == .slider(999, mark: mark))
    #expect(PersonAnswer("slider 0 \(mark)") == .slider(0, mark: mark))
    #expect(PersonAnswer("slider 1000 \(mark)") == nil && PersonAnswer("slider  \(mark)") == nil)
    #expect(PersonAnswer("slider 9 \(mark)m") == nil)
    #expect(PersonAnswer("slider 9 \(mark.dropLast())") == nil)
    #expect(PersonAnswer("ruler 127 \(mark)") == .slider(232, mark: mark))
  }

  @Test("Files of rules, bypasses and nginx have their bounds")
  func files() {
    #expect(RouteFile.byteCountMax == 262_144 && RouteFile.ruleCountMax == 1_000)
    #expect(RouteFile.limitCountMax == 8 && BypassFile.byteCountMax == 65_536)
    #expect(RouteLimit.counts == 1...1_000_000)
    #expect(NginxFiles.depthMax == 16 && NginxFiles.countMax == 1_000)
    #expect(NginxFiles.byteCountMax == 8_388_608)
    #expect(NginxReader.depthMax == 32 && NginxReader.countMax == 50_000)
    #expect(NginxCheck.answerBytes == 4_096 && NginxCheck.fieldBytes == 4_096)
  }

  @Test("A route's name has up to 32 characters")
  func names() throws {
    for (count, isRead) in [(1, true), (32, true), (33, false)] {
      let text = "route " + String(repeating: "a", count: count) + "\nneed proof\n"
      #expect(((try? RouteFile(Array(text.utf8))) != nil) == isRead, "\(count)")
    }
  }

  /// docs/SPEC.md, section 16, *Ticket*, and docs/GATE.md, *Rate limits*.
  @Test("A ticket has 192 bytes, tables of rates their places, second questions their room")
  func rooms() {
    #expect(TicketDesk.byteCount == 192 && TicketDesk.characterCount == 256)
    #expect(TicketDesk.head == 27)
    let room = GateLimits.Sizes()
    #expect(room.addresses == 65_536 && room.instances == 262_144 && room.accounts == 262_144)
    #expect(SecondQuestions.capacity == 4_096 && SecondQuestions.byteCountMax == 4_096)
    #expect(SecondQuestions.microseconds == 5_000_000)
    #expect(PageHandler.bodyMax == 16_384)
    #expect(FormPairs.byteMax == 16_384 && FormPairs.countMax == 24)
  }

  @Test("A line of cookies is read up to 16,384 bytes")
  func cookies() throws {
    for (count, isRead) in [(16_384, true), (16_385, false)] {
      let line = "a=" + String(repeating: "b", count: count - 2)
      let field = try HeaderFields([(name: "Cookie", value: line)])
      if isRead {
        #expect(try ClearanceField(in: field) == nil)
      } else {
        #expect(throws: ClearanceRefusal.cookies) { try ClearanceField(in: field) }
      }
    }
  }

  /// docs/GATE.md, *Sizing*, and docs/SPEC.md, section 16.
  @Test("Pictures have a rate for those who worked, and another for those who did not")
  func pictureRates() {
    let bounds = PersonBounds.Settings()
    #expect(bounds.worked == OpeningBudget.Rate(burst: 60, perSecond: 30))
    #expect(bounds.strangers == OpeningBudget.Rate(burst: 20, perSecond: 2))
    let settings = PageSettings()
    #expect(settings.pictureLevel == 11 && settings.longLevel == 4)
  }
}
