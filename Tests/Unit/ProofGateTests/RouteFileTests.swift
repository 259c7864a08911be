// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import ProofGate

/// The file of routes: what it says, what it refuses, and which rule a request gets.
@Suite struct RouteFileTests {
  private static let text = """
    # The rules of one API.
    route prices
      methods GET HEAD
      path /prices
      need none
    route payments   # with their folder
      host api.example.com
      methods POST
      path /payments/*
      need proof
      mode watch
      body behind
      doubt pass
      unanchored refuse
    route named
      need proof
    route rest
      path /*
      need proof
    """

  private func file(_ text: String) throws(RouteFileError) -> RouteFile {
    try RouteFile(Array(text.utf8))
  }

  private func error(_ text: String) -> String? {
    do throws(RouteFileError) {
      _ = try file(text)
      return nil
    } catch {
      return error.description
    }
  }

  private func name(
    _ method: String, _ path: Substring, host: String = "api.example.com", named: String? = nil
  ) throws -> String {
    try file(Self.text).rule(host: host, method: method, path: path, named: named).name
  }

  @Test("Each word of a rule is read, and what is left out is strict")
  func words() throws {
    let file = try file(Self.text)
    #expect(file.rules.map(\.name) == ["prices", "payments", "named", "rest"])
    let payments = file.rules[1]
    #expect(payments.host == "api.example.com" && payments.methods == ["POST"])
    #expect(payments.mode == .watch && payments.doubt == .pass && payments.unanchored == .refuse)
    let rest = file.rules[3]
    #expect(rest.mode == .enforce && rest.body == .behind && rest.doubt == .refuse)
    #expect(try self.file(Self.text.split(separator: "\n").joined(separator: "\r\n")) == file)
  }

  @Test(
    "Several needs on one line mean each of them; apps of less than a day pay unless told otherwise"
  )
  func needs() throws {
    let text =
      "route a\nneed person proof work 12 memory 2\nspend yes\norigin https://a.example https://b.example:8443\n"
      + "route b\nneed token\nyoung none\nroute c\nneed proof\nyoung work 9\n"
    let rules = try file(text).rules
    #expect(rules[0].need.proof && rules[0].need.person && !rules[0].need.token)
    #expect(rules[0].need.work == 12 && rules[0].need.memoryWork == 2 && rules[0].spends)
    #expect(rules[0].need.demands.map(\.kind) == [.work, .memoryWork, .person])
    #expect(rules[0].origins == ["https://a.example", "https://b.example:8443"])
    #expect(rules[0].young == 16 && rules[1].young == nil && rules[2].young == 9)
    #expect(rules[1].need.token && !rules[1].need.proof && !rules[1].spends)
  }

  @Test("The first rule for host, method and raw path counts; without one the strictest")
  func matching() throws {
    #expect(try name("GET", "/prices") == "prices")
    #expect(try name("GET", "/prices/") == "rest")
    #expect(try name("GET", "/Prices") == "rest")
    #expect(try name("POST", "/prices") == "rest")
    #expect(try name("POST", "/payments") == "payments")
    #expect(try name("POST", "/payments/7") == "payments")
    #expect(try name("POST", "/paymentsx") == "rest")
    #expect(try name("POST", "/payments/7", host: "other.example.com") == "rest")
    #expect(try name("POST", "/x", named: "named") == "named")
    #expect(try name("GET", "/x", named: "prices") == "unmatched", "the path is not the rule's")
    #expect(try name("GET", "/x", named: "nobody") == "unmatched")
    let only = try file("route one\npath /one\nneed none\n")
    let rule = only.rule(host: "a", method: "GET", path: "/two", named: nil)
    #expect(rule == .unmatched && rule.need == .proof && rule.mode == .enforce)
    #expect(rule.unanchored == .refuse && rule.doubt == .refuse && rule.body == .behind)
  }

  @Test(
    "An error names the line, the value and the next step",
    arguments: [
      ("", "line 1: the file has no rule"),
      ("need proof\n", "line 1: need stands before the first route"),
      ("\nroute a\nneed proofs\n", "line 3: need is proofs; it takes none or some of"),
      ("route a\nneed proof\nneed none\n", "line 3: need is given twice in route a"),
      ("route a\nneed proof\nroute a\n", "line 3: route a is given twice"),
      ("route a\npath /\n", "line 1: route a does not say what it needs"),
      ("route A\n", "line 1: route A: a name has"),
      ("route unmatched\n", "line 1: route unmatched"),
      ("route a b\n", "line 1: route takes one value, and has 2"),
      ("route\n", "line 1: route takes one value, and has 0"),
      ("route a\nlimits 3\n", "line 2: limits is not known: write route, host"),
      ("route a\nlimit 3\n", "line 2: limit: it takes address, instance or account, then a rate"),
      ("route a\npath prices\n", "line 2: path prices: write"),
      ("route a\npath /a//b\n", "line 2: path"), ("route a\npath /a/../b\n", "line 2: path"),
      ("route a\npath /a/*/b\n", "line 2: path"), ("route a\npath /a*\n", "line 2: path"),
      ("route a\npath /%61\n", "line 2: path"), ("route a\npath /a?b\n", "line 2: path"),
      ("route a\nmethods\n", "line 2: methods"), ("route a\nmethods get\n", "line 2: methods"),
      ("route a\nmethods GET GET\n", "line 2: methods"),
      ("route a\nhost API.example.com\n", "line 2: host"),
      ("route a\nhost api.example.com:443\n", "line 2: host"),
      ("route a\nneed none\nbody behind\n", "line 1: route a needs none, so body has no effect"),
      (
        "route a\nneed proof\nbody unchecked\n",
        "line 1: route a enforces, and leaves bodies unchecked"
      ),
      (
        "route a\nmethods GET POST\nneed proof\nbody unchecked\n",
        "line 1: route a enforces, and leaves bodies unchecked"
      ),
      ("route a\nneed pro\u{0}of\n", "line 2: it is no text"),
      ("route a\nneed\n", "line 2: need has no value"),
      ("route a\nneed none proof\n", "line 2: need is none; it takes"),
      ("route a\nneed proof proof\n", "line 2: need names proof twice"),
      ("route a\nneed work\n", "line 2: work takes a level from 1 to 24"),
      ("route a\nneed work 25\n", "line 2: work takes a level"),
      ("route a\nneed work 07\n", "line 2: work takes a level"),
      ("route a\nneed memory 8\n", "line 2: memory takes a level from 1 to 7"),
      ("route a\nneed proof event\n", "line 2: event takes a number from 0 to 65535"),
      ("route a\nneed proof event 65536\n", "line 2: event takes a number from 0 to 65535"),
      ("route a\nneed proof event 033\n", "line 2: event takes a number from 0 to 65535"),
      ("route a\nneed event 7\n", "line 2: need event 7 lacks proof"),
      ("route a\nneed token event 7\n", "line 2: need event 7 lacks proof"),
      (
        "route a\nmethods GET\nneed proof event 7\nbody unchecked\n",
        "line 1: route a needs event 7, which counts once and covers the body: body unchecked"
      ),
      (
        "route a\nneed event 7 proof\ndoubt pass\n",
        "line 1: route a needs event 7, which counts once and covers the body: doubt pass"
      ),
      ("route a\nneed proof\nyoung proof\n", "line 3: young takes none, or work LEVEL"),
      ("route a\nneed proof\nyoung work 9 9\n", "line 3: young takes none"),
      ("route a\nneed none\nspend yes\n", "line 1: route a needs none, so spend has no effect"),
      ("route a\nneed proof\nspend often\n", "line 3: spend is often; it takes yes or no"),
      ("route a\nneed proof\norigin http://a.example\n", "line 3: origin http://a.example: write"),
      ("route a\nneed proof\norigin https://A.example\n", "line 3: origin"),
      ("route a\nneed proof\norigin https://a.example/\n", "line 3: origin"),
      ("route a\nneed proof\norigin\n", "line 3: origin: name each once"),
      ("route a\nbody door\nneed proof\n", "line 2: body is door; it takes gate or behind or"),
    ])
  func errors(_ text: String, _ words: String) {
    let error = error(text)
    #expect(error?.hasPrefix(words) == true, "\(error ?? "no error")")
  }

  @Test("Bodies may stay unchecked where nothing is enforced, or where methods have none")
  func unchecked() throws {
    #expect(error("route a\nneed proof\nmode watch\nbody unchecked\n") == nil)
    #expect(error("route a\nmethods GET HEAD\nneed proof\nbody unchecked\n") == nil)
  }

  @Test(
    "An event is an error at a gate that redeems none, and for an account that does not list it")
  func events() throws {
    let file = try file("route a\nneed proof event 3300\n")
    #expect(file.rules[0].need.event == 3300 && file.rules[0].need.proof && file.needsEvents)
    try file.check(events: [1...2, 3300...3310])
    for (listed, words) in [(nil, "redeems none"), ([], "lists none"), ([1...2], "lists 1-2")]
      as [([ClosedRange<UInt16>]?, String)]
    {
      let error = #expect(throws: RouteFileError.self) { try file.check(events: listed) }
      #expect(error?.description.contains(words) == true)
    }
    let other = try self.file("route a\nneed proof\n")
    try other.check(events: nil)
    #expect(!other.needsEvents)
  }

  @Test("A host that the account does not list is an error")
  func hosts() throws {
    let file = try file(Self.text)
    try file.check(hosts: ["api.example.com"])
    #expect(throws: RouteFileError.self) { try file.check(hosts: ["pay.example.com"]) }
  }

  @Test("Bounds on the file hold")
  func bounds() throws {
    let rule = "need proof\n"
    let most = (0..<RouteFile.ruleCountMax).map { "route r\($0)\n\(rule)" }.joined()
    #expect(try file(most).rules.count == RouteFile.ruleCountMax)
    #expect(error(most + "route more\n" + rule) != nil)
    #expect(throws: RouteFileError.self) {
      try RouteFile([UInt8](repeating: 10, count: RouteFile.byteCountMax + 1))
    }
  }

  @Test("Mutated files are read or refused, and no rule of one enforces with bodies unchecked")
  func fuzz() throws {
    var mutator = Mutator("route file")
    let inputs = [
      Self.text, "route a\nmethods GET\nneed proof\nbody unchecked\n", "route z\nneed none\n",
    ].map { Array($0.utf8) }
    for _ in 0..<10 * Mutator.rounds {
      let mutant = mutator.mutant(of: inputs)
      do throws(RouteFileError) {
        let file = try RouteFile(mutant)
        for rule in file.rules {
          let isSafe = !rule.methods.isEmpty && Set(rule.methods).isSubset(of: ["GET", "HEAD"])
          #expect(rule.mode == .watch || rule.body == .behind || isSafe)
        }
        #expect(Set(file.rules.map(\.name)).count == file.rules.count && !file.rules.isEmpty)
      } catch {
        let isPlain = error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 }
        #expect(error.line > 0 && isPlain, "\(error.description.debugDescription)")
      }
    }
  }
}
