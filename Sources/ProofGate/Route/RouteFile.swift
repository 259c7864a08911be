// SPDX-License-Identifier: Apache-2.0

/// The rules of a gate's routes, as an operator writes them: plain text, in blocks that begin with `route`.
///
///     route payments              # a name: a-z, 0-9 and hyphens
///       host api.example.com      # each host of the gate if missing
///       methods POST PUT          # each method if missing
///       path /payments/*          # if missing, the proxy names the route
///       need proof work 12        # none, or some of token, proof, event NUMBER, work LEVEL, memory LEVEL, person
///       mode enforce              # watch or enforce (if missing)
///       body behind               # behind (if missing) or unchecked
///       doubt refuse              # refuse (if missing) or pass
///       unanchored safe           # pass, safe (if missing) or refuse
///       young work 16             # work 16 (if missing), work LEVEL or none: apps of less than a day
///       spend yes                 # yes or no (if missing): each clearance counts once
///       limit address 20/second   # address, instance or account; then refuse (if missing) or a challenge
///       rollout 10                # percent of clients; 100 if missing: the others are only watched
///       origin https://example.com  # pages that may read the gate's answers; none if missing
///
/// The first rule that is for a request counts. A request that no rule is for is judged by ``RouteRule/unmatched``.
package struct RouteFile: Sendable, Hashable {
  /// How many bytes a file has at most.
  package static let byteCountMax = 262_144
  /// How many rules a file has at most.
  package static let ruleCountMax = 1000
  /// How many limits a rule has at most.
  package static let limitCountMax = 8

  /// The rules in their order.
  package let rules: [RouteRule]

  /// Reads a file's text.
  ///
  /// - Parameter bytes: The whole file.
  /// - Throws: ``RouteFileError`` with the first line that cannot be used.
  package init(_ bytes: [UInt8]) throws(RouteFileError) {
    guard bytes.count <= Self.byteCountMax else {
      throw RouteFileError(1, "the file has \(bytes.count) bytes, at most \(Self.byteCountMax)")
    }
    var reader = RouteReader()
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      try reader.read(line, number)
    }
    try reader.end()
    rules = reader.rules
    guard !rules.isEmpty else {
      throw RouteFileError(1, "the file has no rule: begin one with `route NAME`")
    }
  }

  /// The rule for a request.
  ///
  /// - Parameters:
  ///   - host: The authority in lower case.
  ///   - method: The method.
  ///   - path: The raw path, in the one spelling that a gate takes.
  ///   - name: The name by which the proxy calls the route; nil if it calls none.
  /// - Returns: The first rule that is for it, or the strictest.
  package func rule(host: String, method: String, path: Substring, named name: String?) -> RouteRule
  {
    let found = rules.first { rule in
      guard rule.takes(host: host, method: method) else { return false }
      guard let name else { return rule.path?.takes(path) ?? false }
      return rule.name == name && rule.path?.takes(path) ?? true
    }
    return found ?? .unmatched
  }

  /// Checks the rules against what a gate's configuration says, when an operator's files are read.
  ///
  /// - Parameter hosts: The hosts of the gate.
  /// - Throws: ``RouteFileError`` for a rule that could never hold.
  package func check(hosts: [String]) throws(RouteFileError) {
    for rule in rules {
      guard let host = rule.host, !hosts.contains(where: { $0 == host }) else { continue }
      throw RouteFileError(
        0,
        "route \(rule.name) is for host \(host), which the account does not list for the gate: it"
          + " lists \(hosts.joined(separator: ", "))")
    }
  }
}

extension RouteFile {
  /// A value for an error, without what could change the line of a log.
  static func shown(_ text: String) -> String {
    let start = text.unicodeScalars.prefix(64).map { scalar in
      scalar.isASCII ? String(scalar) : "?"
    }.joined()
    return start.isEmpty ? "nothing" : start
  }
}

extension RouteFile {
  /// Checks the rules against how the proxy asks.
  ///
  /// - Parameter style: How the proxy tells about requests.
  /// - Throws: ``RouteFileError`` for a rule that could never hold.
  package func check(style: ForwardStyle) throws(RouteFileError) {
    guard style == .forwarded, let rule = rules.first(where: { $0.body == .gate }) else { return }
    throw RouteFileError(
      0,
      "route \(rule.name) says body gate, and Caddy hands no body to a gate: write body behind, or"
        + " use HAProxy")
  }
}

extension RouteFile {
  /// Whether a rule needs an event.
  package var needsEvents: Bool { rules.contains { $0.need.event != nil } }

  /// Checks the rules against the events that a gate redeems.
  ///
  /// - Parameter listed: The numbers that the account lists for the audience of the gate's redeemer; nil for a gate
  ///   without one.
  /// - Throws: ``RouteFileError`` for a rule that could never hold.
  package func check(events listed: [ClosedRange<UInt16>]?) throws(RouteFileError) {
    for rule in rules {
      guard let event = rule.need.event else { continue }
      guard let listed else {
        throw RouteFileError(
          0,
          "route \(rule.name) needs event \(event), and this gate redeems none: start it with --events,"
            + " --event-credentials and --event-replay")
      }
      guard listed.contains(where: { $0.contains(event) }) else {
        let numbers = listed.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ", ")
        throw RouteFileError(
          0,
          "route \(rule.name) needs event \(event), which the account does not list for the gate's"
            + " audience: it lists \(numbers.isEmpty ? "none" : numbers)")
      }
    }
  }
}

/// The reason why a file of routes cannot be used.
package struct RouteFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The line, from 1; 0 for the file as a whole.
  package let line: Int
  /// The value, and the next step.
  package let problem: String

  init(_ line: Int, _ problem: String) {
    self.line = line
    self.problem = problem
  }

  package var description: String { line == 0 ? problem : "line \(line): \(problem)" }
}

/// Reads the lines of a file of routes.
private struct RouteReader {
  private static let keys = [
    "host", "methods", "path", "need", "mode", "body", "doubt", "unanchored", "young", "spend",
    "origin", "limit", "rollout",
  ]
  private static let nameMax = 32

  var rules: [RouteRule] = []
  private var open: RouteRule?
  private var start = 0
  private var given: Set<String> = []

  mutating func read(_ line: ArraySlice<UInt8>, _ number: Int) throws(RouteFileError) {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    guard let text = String(validating: line, as: UTF8.self),
      !text.utf8.contains(where: { $0 < 0x20 && $0 != UInt8(ascii: "\t") || $0 == 0x7F })
    else {
      throw RouteFileError(number, "it is no text: take out control characters, and write UTF-8")
    }
    let code = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
    var words = code.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)[...]
    guard let key = words.popFirst() else { return }
    if key == "route" {
      try end()
      try begin(Array(words), number)
    } else {
      try take(key, Array(words), number)
    }
  }

  private mutating func begin(_ words: [String], _ number: Int) throws(RouteFileError) {
    let name = try Self.one(words, "route", number)
    let isName = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
    }
    guard isName, name.utf8.count <= Self.nameMax, name != RouteRule.unmatchedName else {
      throw RouteFileError(
        number,
        "route \(RouteFile.shown(name)): a name has 1 to \(Self.nameMax) of a-z, 0-9 and -, and is"
          + " not \(RouteRule.unmatchedName)")
    }
    if rules.contains(where: { $0.name == name }) {
      throw RouteFileError(number, "route \(name) is given twice: take another name")
    }
    guard rules.count < RouteFile.ruleCountMax else {
      throw RouteFileError(number, "a file has at most \(RouteFile.ruleCountMax) routes")
    }
    open = RouteRule(name)
    start = number
    given = []
  }

  private mutating func take(
    _ key: String, _ words: [String], _ number: Int
  ) throws(RouteFileError) {
    guard Self.keys.contains(where: { $0 == key }) else {
      throw RouteFileError(
        number,
        "\(RouteFile.shown(key)) is not known: write route, \(Self.keys.joined(separator: ", "))"
      )
    }
    guard var rule = open else {
      throw RouteFileError(number, "\(key) stands before the first route: begin with `route NAME`")
    }
    guard given.insert(key).inserted || key == "limit" else {
      throw RouteFileError(number, "\(key) is given twice in route \(rule.name)")
    }
    switch key {
    case "host": rule.host = try Self.host(words, number)
    case "methods": rule.methods = try Self.methods(words, number)
    case "path":
      let text = try Self.one(words, key, number)
      guard let path = RoutePath(text) else {
        throw RouteFileError(
          number,
          "path \(RouteFile.shown(text)): write the path as clients send it, such as /prices, or"
            + " /payments/* for all below it; no percent sign, question mark, // or dot segment")
      }
      rule.path = path
    case "need": rule.need = try RouteNeed(words, number)
    case "young": rule.young = try Self.young(words, number)
    case "spend": rule.spends = try (Self.choice(words, key, number) as YesOrNo) == .yes
    case "origin": rule.origins = try Self.origins(words, number)
    case "limit": rule.limits.append(try Self.limit(words, rule, number))
    case "rollout":
      let text = try Self.one(words, key, number)
      guard let share = Int(text).flatMap(Rollout.init) else {
        throw RouteFileError(number, "rollout is \(RouteFile.shown(text)); it takes 0 to 100")
      }
      rule.rollout = share
    case "mode": rule.mode = try Self.choice(words, key, number)
    case "body": rule.body = try Self.choice(words, key, number)
    case "doubt": rule.doubt = try Self.choice(words, key, number)
    default: rule.unanchored = try Self.choice(words, key, number)
    }
    open = rule
  }

  /// Ends the open rule, and checks it as a whole.
  mutating func end() throws(RouteFileError) {
    guard let rule = open else { return }
    open = nil
    guard given.contains("need") else {
      throw RouteFileError(start, "route \(rule.name) does not say what it needs: add need proof")
    }
    let refusing = rule.limits.isEmpty ? ["mode", "rollout"] : []
    let idle = (["body", "doubt", "unanchored", "young", "spend"] + refusing)
      .first { given.contains($0) }
    if rule.need.isNone, let idle {
      throw RouteFileError(
        start, "route \(rule.name) needs none, so \(idle) has no effect: take the line away")
    }
    let counted = rule.limits.first { $0.subject != .address }
    if !rule.need.proof, let counted {
      throw RouteFileError(
        start,
        "route \(rule.name) has limit \(counted.subject.rawValue), which counts requests with a proof:"
          + " add need proof")
    }
    if let event = rule.need.event {
      let weak = rule.body == .unchecked ? "body unchecked" : "doubt pass"
      guard rule.body != .unchecked, rule.doubt != .pass else {
        throw RouteFileError(
          start,
          "route \(rule.name) needs event \(event), which counts once and covers the body: \(weak) does not go"
            + " with it, so take the line away")
      }
    }
    let isSafe =
      !rule.methods.isEmpty && rule.methods.allSatisfy { $0 == "GET" || $0 == "HEAD" }
    if rule.mode == .enforce, rule.body == .unchecked, !isSafe {
      throw RouteFileError(
        start,
        "route \(rule.name) enforces, and leaves bodies unchecked for methods other than GET and"
          + " HEAD: write body behind, and have the API compare the digest in the verdict")
    }
    rules.append(rule)
  }

  // MARK: Values

  private static func limit(
    _ words: [String], _ rule: RouteRule, _ number: Int
  ) throws(RouteFileError) -> RouteLimit {
    guard rule.limits.count < RouteFile.limitCountMax else {
      throw RouteFileError(number, "a route has at most \(RouteFile.limitCountMax) limits")
    }
    do throws(RouteLimitError) { return try RouteLimit(words) } catch {
      throw RouteFileError(number, "limit: \(error.problem)")
    }
  }

  private enum YesOrNo: String, CaseIterable { case yes, no }

  private static func young(_ words: [String], _ number: Int) throws(RouteFileError) -> UInt8? {
    guard words != ["none"] else { return nil }
    var rest = words[...]
    guard rest.popFirst() == "work" else {
      throw RouteFileError(number, "young takes none, or work LEVEL")
    }
    let level = try RouteNeed.level(&rest, "young work", WorkPuzzle.levels, number)
    guard rest.isEmpty else { throw RouteFileError(number, "young takes none, or work LEVEL") }
    return level
  }

  /// Origins as browsers send them: https, host in lower case, the port unless it is 443.
  private static func origins(_ words: [String], _ number: Int) throws(RouteFileError) -> [String] {
    let scheme = "https://"
    for word in words {
      let host = String(word.dropFirst(scheme.count))
      guard word.hasPrefix(scheme), RequestDoor.authority(host) == host else {
        throw RouteFileError(
          number, "origin \(RouteFile.shown(word)): write https:// and the host in lower case")
      }
    }
    guard !words.isEmpty, Set(words).count == words.count else {
      throw RouteFileError(number, "origin: name each once, with blanks between")
    }
    return words
  }

  private static func one(
    _ words: [String], _ key: String, _ number: Int
  ) throws(RouteFileError) -> String {
    guard words.count == 1 else {
      throw RouteFileError(number, "\(key) takes one value, and has \(words.count)")
    }
    return words[0]
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ words: [String], _ key: String, _ number: Int
  ) throws(RouteFileError) -> Choice {
    let word = try one(words, key, number)
    guard let choice = Choice(rawValue: word) else {
      let known = Choice.allCases.map(\.rawValue).joined(separator: " or ")
      throw RouteFileError(number, "\(key) is \(RouteFile.shown(word)); it takes \(known)")
    }
    return choice
  }

  private static func host(_ words: [String], _ number: Int) throws(RouteFileError) -> String {
    let text = try one(words, "host", number)
    guard let host = RequestDoor.authority(text), host == text else {
      throw RouteFileError(
        number,
        "host \(RouteFile.shown(text)): write it in lower case, with its port unless that is 443")
    }
    return host
  }

  private static func methods(_ words: [String], _ number: Int) throws(RouteFileError) -> [String] {
    let areMethods = words.allSatisfy { word in
      word.utf8.count <= 32
        && word.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
    guard !words.isEmpty, areMethods, Set(words).count == words.count else {
      throw RouteFileError(
        number, "methods: name each once, in capitals, with blanks between, such as GET HEAD")
    }
    return words
  }
}
