// SPDX-License-Identifier: Apache-2.0

/// All verbs of the tool, in the order of its help.
enum VerbTable {
  static let all: [Verb] =
    [
      AccountVerbs.all, GateVerbs.all, EventVerbs.all, ChallengeVerbs.all, TokenVerbs.all,
      SDKVerbs.all, HardwareVerbs.all, MeasurementTokenVerbs.all, LogVerbs.all,
      StoreVerbs.all, [Diagnosis.verb, Explanation.verb, Completion.verb],
    ].flatMap { $0 }

  static let nouns: [String] = all.map(\.noun).reduce(into: []) { nouns, noun in
    if !nouns.contains(noun) { nouns.append(noun) }
  }

  static func verbs(of noun: String) -> [Verb] { all.filter { $0.noun == noun } }

  /// The verb that arguments begin with, and the rest of them.
  static func find(_ arguments: [String]) throws(Failure) -> (Verb, [String]) {
    guard let noun = arguments.first else { throw .usage("say what to do") }
    let verbs = verbs(of: noun)
    guard !verbs.isEmpty else { throw .usage("there is nothing called \"\(noun)\"") }
    if let only = verbs.first, only.name.isEmpty { return (only, Array(arguments.dropFirst())) }
    let names = verbs.map(\.name).joined(separator: ", ")
    guard arguments.count > 1 else { throw .usage("\"\(noun)\" needs one of: \(names)") }
    guard let verb = verbs.first(where: { $0.name == arguments[1] }) else {
      throw .usage("\"\(noun)\" has no \"\(arguments[1])\"; it has: \(names)")
    }
    return (verb, Array(arguments.dropFirst(2)))
  }
}
