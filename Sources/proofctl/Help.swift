// SPDX-License-Identifier: Apache-2.0

import Console

/// The text that `--help` prints.
enum Help {
  static let all: String = {
    let rows = VerbTable.all.map { ($0.path, $0.summary) }
    return """
      usage: proofctl NOUN VERB [arguments] [flags]

      Operates an attestation service's account, on its store or behind a running service, and does by
      hand what backends and hardware do.

      \(Usage.columns(rows))

      "proofctl NOUN VERB --help" explains one, "proofctl --version" prints the version. Ends with 0 if it was done, 1 if it was refused or failed,
      2 if it was not understood.
      """
  }()

  static func noun(_ noun: String) -> String {
    Usage.columns(VerbTable.verbs(of: noun).map { ($0.usage, $0.summary) })
  }

  static func verb(_ verb: Verb) -> String {
    func rows(_ flags: [Option]) -> String {
      Usage.columns(flags.map { ($0.words, $0.help) })
    }
    let own = verb.flags.isEmpty ? "" : "\n\n" + rows(verb.flags)
    let details = verb.details.isEmpty ? "" : "\n\n" + verb.details
    return "usage: \(verb.usage)\n\n\(verb.summary)\(details)\(own)\n\n" + rows(Invocation.globals)
  }
}
