// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofGate

/// Bounds of the file of routes from both sides, and what its errors show.
@Suite struct RouteBoundsTests {
  private func error(_ text: String) -> String? {
    do throws(RouteFileError) {
      _ = try RouteFile(Array(text.utf8))
      return nil
    } catch {
      return error.description
    }
  }

  @Test(
    "Values at their bounds are taken, and those beyond them are not",
    arguments: [
      ("route \(String(repeating: "a", count: 32))\nneed proof", true),
      ("route \(String(repeating: "a", count: 33))\nneed proof", false),
      ("route 0-z9\nneed proof", true), ("route a_b\nneed proof", false),
      ("route a\nneed proof\nmethods \(String(repeating: "M", count: 32))", true),
      ("route a\nneed proof\nmethods \(String(repeating: "M", count: 33))", false),
      ("route a\nneed proof\nmethods GETx", false), ("route a\nneed proof\nmethods A Z", true),
      ("route a\nneed proof\nrollout 0", true), ("route a\nneed proof\nrollout 100", true),
      ("route a\nneed proof\nrollout 101", false), ("route a\nneed proof\nrollout -1", false),
      ("route a\nneed proof\nrollout 1 2", false), ("route a\nneed proof\nyoung work 24", true),
      ("route a\nneed proof\nyoung work 25", false), ("route a\nneed proof\nyoung work 0", false),
      ("route a\nneed proof\nyoung work", false), ("route a\nneed work 1", true),
      ("route a\nneed work 0", false),
      ("route a\nneed work 24", true), ("route a\nneed memory 1", true),
      ("route a\nneed memory 0", false),
      ("route a\nneed memory 7", true), ("route a\nneed proof event 0", true),
      ("route a\nneed proof event 65535", true),
      ("route a\nneed none\nlimit address 1/hour\nmode watch", true),
      ("route a\nneed none\nmode watch", false), ("route a\nneed none\nrollout 10", false),
      ("route a\nneed none\nlimit address 1/hour\nrollout 10", true),
      ("route a\nneed none\nlimit address 1/hour\nyoung none", false),
      ("route a\nneed none\norigin https://a.example", true),
      ("route a\nneed none\nmethods GET", true),
      ("route a\nneed work 1\nlimit instance 1/hour", false),
      ("route a\nneed work 1\nlimit account 1/hour", false),
      ("route a\nneed proof\nlimit account 1/hour", true),
      ("route a\nneed work 1\nlimit address 1/hour", true),
      ("route a\nneed proof\nmethods GET HEAD\nbody unchecked", true),
      ("route a\nneed proof\nmethods HEAD PUT\nbody unchecked", false),
      ("route a\tneed proof", false), ("\troute\ta \t# b\n\n need\tproof\t", true),
      ("route a\nneed proof #\u{1f}", false),
      ("route a\nneed proof #\u{7f}", false), ("route a\nneed proof #ü\t", true),
      ("route a\nneed proof\norigin https://a.example https://a.example", false),
      ("route a#b\nneed proof", true),
      ("route a\nhost api.example.com:8443\nneed proof", true),
      ("route a\nhost a b\nneed proof", false),
      ("route a\nneed proof\nspend no", true), ("route a\nneed proof\nspend", false),
    ])
  func bounds(_ text: String, _ isRight: Bool) {
    #expect((error(text) == nil) == isRight, "\(text): \(error(text) ?? "taken")")
  }

  @Test("A rule has eight limits, a file 1,000 rules and 262,144 bytes")
  func counts() throws {
    let limit = "limit address 1/hour\n"
    let eight = "route a\nneed proof\n" + String(repeating: limit, count: 8)
    #expect(try RouteFile(Array(eight.utf8)).rules[0].limits.count == 8)
    #expect(error(eight + limit) == "line 11: a route has at most 8 limits")
    let rule = "route a\nneed proof\n#"
    let full = rule + String(repeating: "x", count: 262_144 - rule.utf8.count)
    #expect(error(full) == nil)
    #expect(error(full + "x") == "line 1: the file has 262145 bytes, at most 262144")
    #expect(RouteFile.ruleCountMax == 1000)
    let many = (0...1000).map { "route r\($0)\nneed proof\n" }.joined()
    #expect(error(many) == "line 2001: a file has at most 1000 routes")
  }

  @Test("A value in an error has at most 64 characters, and none that is not ASCII")
  func shown() {
    #expect(RouteFile.shown("") == "nothing" && RouteFile.shown("aü~") == "a?~")
    #expect(RouteFile.shown(String(repeating: "a", count: 65)) == String(repeating: "a", count: 64))
    #expect(
      RouteFileError(0, "a").description == "a" && RouteFileError(1, "a").description == "line 1: a"
    )
  }

  @Test("A path of a rule is plain, and takes what is below it with a slash alone")
  func paths() throws {
    for text in ["/", "/a", "/a/", "/*", "/a/*", "/a/b.c-d_e~!$&'()+,;=:@", "/.a", "/a./b"] {
      #expect(RoutePath(text) != nil, "\(text)")
    }
    for text in [
      "", "a", "*", "/a//b", "//", "//*", "/a//*", "/a/./b", "/a/..", "/..", "/./*", "/*/a", "/a*",
      "/**", "/a%20", "/a?b",
      "/a#b", "/a b", "/a\\b", "/a\"b", "/<", "/>", "/[", "/]", "/^", "/`", "/{", "/|", "/}",
      "/\u{7f}", "/ü",
    ] {
      #expect(RoutePath(text) == nil, "\(text)")
    }
    for (pattern, path, isTaken) in [
      ("/a", "/a", true), ("/a", "/a/", false), ("/a", "/ab", false), ("/a", "/", false),
      ("/a/*", "/a", true),
      ("/a/*", "/a/", true), ("/a/*", "/a/b/c", true), ("/a/*", "/ab", false), ("/a/*", "/", false),
      ("/*", "/", true), ("/*", "/a", true), ("/a/", "/a/", true), ("/a/", "/a", false),
    ] {
      #expect(try #require(RoutePath(pattern)).takes(path[...]) == isTaken, "\(pattern) \(path)")
    }
  }

  @Test("An error tells which hosts, events and styles there are")
  func checks() throws {
    let file = try RouteFile(
      Array("route a\nhost b.example\nneed proof event 7\nroute c\nneed proof\nbody gate".utf8))
    let host = #expect(throws: RouteFileError.self) {
      try file.check(hosts: ["x.example", "y.example"])
    }
    #expect(host?.description.hasPrefix("route a is for host b.example") == true)
    #expect(host?.description.hasSuffix("lists x.example, y.example") == true)
    try file.check(hosts: ["y.example", "b.example"])
    let style = #expect(throws: RouteFileError.self) { try file.check(style: .forwarded) }
    #expect(style?.description.hasPrefix("route c says body gate, and Caddy") == true)
    try file.check(style: .original)
    for (listed, isRight) in [
      ([7...7], true), ([6...6, 8...8], false), ([0...6], false), ([7...9], true), ([5...7], true),
    ]
      as [([ClosedRange<UInt16>], Bool)]
    {
      do throws(RouteFileError) {
        try file.check(events: listed)
        #expect(isRight, "\(listed)")
      } catch {
        let numbers = listed.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
        #expect(!isRight && error.description.hasSuffix("it lists \(numbers)"), "\(error)")
      }
    }
  }

  @Test("Each word of a rule that is left out has the value of the page")
  func defaults() throws {
    let rule = RouteRule("a")
    #expect(rule.host == nil && rule.methods.isEmpty && rule.path == nil && rule.need == .proof)
    #expect(rule.young == 16 && !rule.spends && rule.origins.isEmpty && rule.limits.isEmpty)
    #expect(rule.rollout == .all && rule.mode == .enforce && rule.body == .behind)
    #expect(rule.doubt == .refuse && rule.unanchored == .safe)
    #expect(RouteRule.unmatched.unanchored == .refuse && RouteRule.unmatched.name == "unmatched")
    #expect(RouteRule("a").number != RouteRule("b").number)
    // The first four bytes of SHA-256 of "abc", the least significant one first.
    #expect(RouteRule("abc").number == 0xBF16_78BA)
  }

  @Test("Counts and levels of a limit at their bounds")
  func limits() throws {
    func read(_ text: String) -> RouteLimit? {
      try? RouteLimit(text.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
    }
    #expect(
      read("address 1/second")?.count == 1 && read("address 1000000/hour")?.count == 1_000_000)
    #expect(read("address 0/second") == nil && read("address 1000001/hour") == nil)
    for (text, excess) in [
      ("work 1", .challenge(.work, level: 1)), ("work 24", .challenge(.work, level: 24)),
      ("memory 1", .challenge(.memoryWork, level: 1)),
      ("memory 7", .challenge(.memoryWork, level: 7)),
      ("person", .challenge(.person, level: 0)), ("refuse", .refuse),
    ] as [(String, RouteLimit.Excess)] {
      #expect(read("account 1/minute then \(text)")?.excess == excess, "\(text)")
    }
    for text in ["work 0", "work 25", "memory 0", "memory 8", "memory", "person 1", "work 1 1", ""]
    {
      #expect(read("account 1/minute then \(text)") == nil, "\(text)")
    }
    let units = RouteLimit.Unit.allCases
    #expect(units.map(\.microseconds) == [1_000_000, 60_000_000, 3_600_000_000])
    let error = #expect(throws: RouteLimitError.self) { try RouteLimit(["address", "x"]) }
    #expect(
      error?.problem == "the rate is a number from 1 to 1000000, then /second, /minute or /hour")
    let level = #expect(throws: RouteLimitError.self) {
      try RouteLimit(["address", "1/hour", "then", "memory", "9"])
    }
    #expect(level?.problem == "its level is a number from 1 to 7")
  }
}
