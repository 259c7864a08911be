import Console

/// The lines, for people.
func text(_ lines: [Line]) -> String {
  let terminal = Terminal()
  var table = Table(["", "what was done", "what happened", ""], [.left, .left, .left, .left])
  var section = ""
  var sections: [Int: String] = [:]
  var row = 1
  for line in lines {
    if line.section != section {
      section = line.section
      sections[row] = section
    }
    let happened =
      line.isAsItMust ? line.happened : "\(line.happened), and it must be: \(line.expected)"
    table.add([line.isAsItMust ? "ok" : "FAILED", line.what, happened, oneLine(line.detail)])
    row += 1
  }
  let styled = table.lines { row, column, cell in
    if row == 0 { return terminal.coloured(cell, .bold) }
    switch column {
    case 0: return terminal.coloured(cell, lines[row - 1].isAsItMust ? .green : .red)
    case 3: return terminal.coloured(cell, .dim)
    default: return cell
    }
  }
  let body = styled.enumerated().flatMap { row, text in
    (sections[row].map { ["", terminal.coloured($0, .bold)] } ?? []) + [text]
  }
  let failed = lines.filter { !$0.isAsItMust }.count
  let last =
    failed == 0
    ? terminal.coloured("all \(lines.count) lines ended as they must", .green)
    : terminal.coloured("\(failed) of \(lines.count) lines did not end as they must", .red)
  return (body + ["", last]).joined(separator: "\n")
}

/// The lines, for machines.
func report(_ lines: [Line]) -> JSON {
  .object([
    ("ok", .bool(lines.allSatisfy(\.isAsItMust))),
    (
      "lines",
      .array(
        lines.map { line in
          .object([
            ("section", .string(line.section)),
            ("what", .string(line.what)),
            ("expected", .string(line.expected)),
            ("happened", .string(line.happened)),
            ("ok", .bool(line.isAsItMust)),
            ("detail", .string(line.detail)),
          ])
        })
    ),
  ])
}

private func oneLine(_ text: String) -> String {
  text.split(separator: "\n").joined(separator: "; ")
}
