// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The bounds of event ranges, and the form in which the account keeps and shows them.
@Suite struct EventRangeTests {
  private static func range(_ numbers: ClosedRange<UInt16> = 5...9) -> EventRange {
    EventRange(numbers, at: GateBench.name, for: "shop")
  }

  @Test func `a range without rules of its own has the defaults of the page`() throws {
    let range = Self.range()
    #expect(range.life == 60 && range.measured == 10)
    #expect(!range.needsAccount && !range.needsData && !range.allowsUnanchored)
    #expect(EventRange.standard == 3_300...3_400)
    #expect(
      range.fields == [
        "numbers": "5-9", "gate": "door", "audience": "shop", "life": 60, "account": false,
        "data": false, "unanchored": false, "measured": 10,
      ])
  }

  @Test func `a life is 1 to 86400 seconds, and a measurement 0 to 255 seconds old`() throws {
    let world = try GateBench()
    let management = world.bench.management
    var number: UInt16 = 0
    func add(_ change: (inout EventRange) -> Void) throws {
      number += 1
      var range = Self.range(number...number)
      change(&range)
      try management.addEvents(range)
      #expect(try management.events().last == range)
    }
    for life in [1, 86_400] { try add { $0.life = life } }
    for life in [-1, 0, 86_401] {
      #expect(
        throws: ServiceError.invalid("life", value: "\(life)", allowed: "1 to 86400 seconds")
      ) { try add { $0.life = life } }
    }
    for measured in [0, 255] { try add { $0.measured = measured } }
    for measured in [-1, 256] {
      #expect(
        throws: ServiceError.invalid(
          "measured", value: "\(measured)", allowed: "0 to 255 seconds")
      ) { try add { $0.measured = measured } }
    }
    #expect(try management.events().count == 4)
  }

  @Test func `an audience is 1 to 64 visible characters`() throws {
    let world = try GateBench()
    let management = world.bench.management
    let good = ["!", "~", String(repeating: "a", count: 64)]
    for (index, name) in good.enumerated() {
      let number = UInt16(index)
      try management.addEvents(EventRange(number...number, at: GateBench.name, for: name))
    }
    #expect(try management.events().map(\.audience) == good)
    for name in ["", " ", "a b", "\u{7f}", "é", String(repeating: "a", count: 65)] {
      #expect(
        throws: ServiceError.invalid(
          "audience", value: name, allowed: "1 to 64 visible ASCII characters")
      ) { try management.addEvents(EventRange(9...9, at: GateBench.name, for: name)) }
    }
    let long = String(repeating: "b", count: 81)
    #expect(
      throws: ServiceError.invalid(
        "audience", value: String(long.dropLast()), allowed: "1 to 64 visible ASCII characters")
    ) { try management.addEvents(EventRange(9...9, at: GateBench.name, for: long)) }
  }

  @Test func `a gate has 256 ranges at most, and another gate has its own`() throws {
    let world = try GateBench()
    let management = world.bench.management
    try management.addGate(
      "other", publicKey: GateBench.publicKey(of: [UInt8](repeating: 0x51, count: 32)))
    var ranges = EventRanges()
    ranges.all = (1...256).map { Self.range($0...$0) }
    ranges.all.removeLast()
    try world.bench.store.apply([
      .put(.account, "events", Array(JSONValue.object(ranges.fields).text.utf8))
    ])
    guard try management.events().count == 255 else {
      Issue.record("the document of events has another name")
      return
    }
    try management.addEvents(Self.range(300...300))
    #expect(
      throws: ServiceError.invalid(
        "number of event ranges", value: "257", allowed: "at most 256 of one gate")
    ) { try management.addEvents(Self.range(400...400)) }
    try management.addEvents(EventRange(0...0, at: "other", for: "shop"))
    #expect(try management.events().map(\.numbers.lowerBound) == [0] + Array(1...255) + [300])
  }

  @Test func `each field is kept, and one that is missing or out of range is damage`() throws {
    var range = Self.range()
    (range.life, range.measured) = (86_400, 255)
    for index in 0..<3 {
      range.needsAccount = index == 0
      range.needsData = index == 1
      range.allowsUnanchored = index == 2
      #expect(EventRange(range.fields) == range)
    }
    for (name, value) in [
      ("numbers", "9-5"), ("numbers", 5), ("gate", 1), ("audience", 1), ("life", 0),
      ("life", 86_401), ("life", "1"), ("measured", 256), ("measured", -1), ("account", 1),
      ("data", 1), ("unanchored", 1),
    ] as [(String, JSONValue)] {
      var fields = range.fields
      fields[name] = value
      #expect(EventRange(fields) == nil, "\(name) \(value)")
      fields[name] = nil
      #expect(EventRange(fields) == nil, "\(name)")
    }
    var fields = range.fields
    for (life, measured) in [(1, 0), (86_400, 255)] as [(JSONValue, JSONValue)] {
      (fields["life"], fields["measured"]) = (life, measured)
      #expect(EventRange(fields) != nil)
    }
    for damaged in [[:], ["events": 1], ["events": [1]], ["events": [[:]]]] as [JSONObject] {
      #expect(EventRanges(damaged) == nil)
    }
    #expect(EventRanges(["events": []])?.all == [])
  }

  @Test(
    arguments: [
      ("0", 0...0), ("65535", 65_535...65_535), ("5-9", 5...9), ("7-7", 7...7), ("007", 7...7),
      ("65536", nil), ("", nil), ("-", nil), ("5-", nil), ("-5", nil), ("9-5", nil), ("1-2-3", nil),
      ("+5", nil), ("5 - 9", nil), ("a", nil), ("1-65536", nil),
    ] as [(String, ClosedRange<UInt16>?)])
  func `numbers are one number, or a first and a last one`(
    _ text: String, _ numbers: ClosedRange<UInt16>?
  ) {
    #expect(EventRange.numbers(parsing: text) == numbers)
    if let numbers, numbers.count == 1 || text == "5-9" {
      #expect(EventRange.numbers(parsing: EventRange.text(of: numbers)) == numbers)
    }
    #expect(EventRange.text(of: 5...9) == "5-9" && EventRange.text(of: 7...7) == "7")
  }
}
