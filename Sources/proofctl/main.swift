// SPDX-License-Identifier: Apache-2.0

import Console
import ProofJOSE
import ProofModel

// The operator's tool. VerbTable.swift lists its verbs.

CoreDumps.forbid()
let arguments = Array(CommandLine.arguments.dropFirst())
let isJSON = arguments.contains("--json")

/// Prints one answer, and returns its exit code.
func perform() throws -> Int32 {
  if arguments.isEmpty || arguments == ["--help"] || arguments == ["help"] {
    print(Help.all)
    return arguments.isEmpty ? 2 : 0
  }
  if arguments == ["--version"] {
    print("proofctl \(Version.text)")
    return 0
  }
  if arguments.count == 2, arguments[1] == "--help",
    let first = VerbTable.verbs(of: arguments[0]).first, !first.name.isEmpty
  {
    print(Help.noun(arguments[0]))
    return 0
  }
  let (verb, rest) = try VerbTable.find(arguments)
  let invocation = try Invocation(rest, of: verb)
  if invocation.has("--help") {
    print(Help.verb(verb))
    return 0
  }
  let answer = try verb.run(invocation)
  print(isJSON ? answer.value.text : answer.text ?? Presentation.text(answer.value))
  return answer.status
}

do {
  Terminal.end(try perform())
} catch {
  let isUsage = (error as? Failure)?.kind == .usage
  let code = (error as? any ProofFailure)?.code
  if isJSON {
    var object: JSONObject = ["error": .string("\(error)")]
    object["code"] = code.map { .string($0) }
    print(JSONValue.object(object).text)
  }
  let verb = (try? VerbTable.find(arguments)).map { "\($0.0.path) " } ?? ""
  Terminal.complain(
    "proofctl: \(error)\(code.map { " [\($0)]" } ?? "")"
      + (isUsage ? "\ntry proofctl \(verb)--help" : ""))
  Terminal.end(isUsage ? 2 : 1)
}
