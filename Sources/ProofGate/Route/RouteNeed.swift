// SPDX-License-Identifier: Apache-2.0

/// The parts that a rule wants of a request, each of them.
package struct RouteNeed: Sendable, Hashable {
  /// The token of an attested app, or its ticket; a proof stands for it.
  package var token = false
  /// A request proof.
  package var proof = false
  /// The lowest level of work (a); nil for none.
  package var work: UInt8?
  /// The lowest level of work (b); nil for none.
  package var memoryWork: UInt8?
  /// A person's answer.
  package var person = false
  /// The number of the event that the request's event token must be for; nil for none. It needs a proof, too.
  package var event: UInt16?

  /// Nothing: the request passes unjudged.
  package static let none = RouteNeed()
  /// A request proof alone.
  package static let proof = RouteNeed(proof: true)

  /// Whether nothing is wanted.
  package var isNone: Bool { self == .none }

  /// The kinds that challenges ask for, the cheapest first.
  package var demands: [ClearanceRule.Demand] {
    var demands: [ClearanceRule.Demand] = []
    if token { demands.append(.init(.token)) }
    if let work { demands.append(.init(.work, level: work)) }
    if let memoryWork { demands.append(.init(.memoryWork, level: memoryWork)) }
    if person { demands.append(.init(.person)) }
    return demands
  }

  /// Reads the words behind `need`.
  ///
  /// - Throws: ``RouteFileError`` of a line.
  package init(_ words: [String], _ number: Int) throws(RouteFileError) {
    self.init()
    guard words != ["none"] else { return }
    var rest = words[...]
    var given: Set<String> = []
    while let word = rest.popFirst() {
      guard given.insert(word).inserted else {
        throw RouteFileError(number, "need names \(word) twice: name it once")
      }
      switch word {
      case "token": token = true
      case "proof": proof = true
      case "person": person = true
      case "event":
        event = try Self.number(&rest, "event takes a number", 0...UInt16.max, number)
      case "work": work = try Self.level(&rest, word, WorkPuzzle.levels, number)
      case "memory": memoryWork = try Self.level(&rest, word, MemoryPuzzle.levels, number)
      default:
        throw RouteFileError(
          number,
          "need is \(RouteFile.shown(word)); it takes none or some of token, proof, event NUMBER,"
            + " work LEVEL, memory LEVEL, person")
      }
    }
    guard !isNone else {
      throw RouteFileError(number, "need has no value: write need none, or the parts it takes")
    }
    if let event, !proof {
      throw RouteFileError(
        number,
        "need event \(event) lacks proof: an event counts for the app that proves the request, so"
          + " write need proof event \(event)")
    }
  }

  private init(proof: Bool = false) { self.proof = proof }

  /// Takes the level behind a kind of work.
  static func level(
    _ rest: inout ArraySlice<String>, _ word: String, _ range: ClosedRange<UInt8>, _ number: Int
  ) throws(RouteFileError) -> UInt8 {
    try self.number(&rest, "\(word) takes a level", range, number)
  }

  /// Takes the number behind a word.
  private static func number<Value: FixedWidthInteger & UnsignedInteger>(
    _ rest: inout ArraySlice<String>, _ words: String, _ range: ClosedRange<Value>, _ line: Int
  ) throws(RouteFileError) -> Value {
    guard let text = rest.popFirst(), let value = Value(text), range.contains(value),
      String(value) == text
    else {
      throw RouteFileError(line, "\(words) from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
