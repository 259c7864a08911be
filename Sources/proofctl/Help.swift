/// What `--help` prints.
enum Help {
  static let all: String = {
    let rows = VerbTable.all.map { ($0.path, $0.summary) }
    return """
      usage: proofctl NOUN VERB [arguments] [flags]

      Operates an attestation service's account, on its store or behind a running service, and does by
      hand what backends and hardware do.

      \(columns(rows))

      "proofctl NOUN VERB --help" explains one. Ends with 0 if it was done, 1 if it was refused or failed,
      2 if it was not understood.
      """
  }()

  static func noun(_ noun: String) -> String {
    columns(VerbTable.verbs(of: noun).map { ($0.usage, $0.summary) })
  }

  static func verb(_ verb: Verb) -> String {
    func rows(_ flags: [Flag]) -> String {
      columns(flags.map { ($0.name + ($0.placeholder.map { " " + $0 } ?? ""), $0.help) })
    }
    let own = verb.flags.isEmpty ? "" : "\n\n" + rows(verb.flags)
    return "usage: \(verb.usage)\n\n\(verb.summary)\(own)\n\n" + rows(Invocation.globals)
  }

  private static func columns(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { left, right in
      "  \(left)\(String(repeating: " ", count: width - left.count))  \(right)"
    }.joined(separator: "\n")
  }
}
