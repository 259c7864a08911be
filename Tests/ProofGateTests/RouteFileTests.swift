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
      ("\nroute a\nneed proofs\n", "line 3: need is proofs; it takes none or proof"),
      ("route a\nneed proof\nneed none\n", "line 3: need is given twice in route a"),
      ("route a\nneed proof\nroute a\n", "line 3: route a is given twice"),
      ("route a\npath /\n", "line 1: route a does not say what it needs"),
      ("route A\n", "line 1: route A: a name has"),
      ("route unmatched\n", "line 1: route unmatched"),
      ("route a b\n", "line 1: route takes one value, and has 2"),
      ("route\n", "line 1: route takes one value, and has 0"),
      ("route a\nlimit 3\n", "line 2: limit is not known: write route, host"),
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
      ("route a\nbody gate\nneed proof\n", "line 2: body is gate; it takes behind or unchecked"),
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
