// SPDX-License-Identifier: Apache-2.0

/// A piece of a report, which is written as Markdown and as HTML.
///
/// Texts may have `code` between backticks and **bold** between pairs of asterisks, and no other markup.
enum Block: Sendable {
  case heading(String, level: Int)
  case text(String)
  case list([String])
  case table(header: [String], rows: [[String]])
  case picture(file: String, title: String, svg: String)
}

extension Block {
  /// Ends with an empty line.
  var markdown: [String] {
    switch self {
    case .heading(let text, let level):
      return [String(repeating: "#", count: level) + " " + text, ""]
    case .text(let text): return [text, ""]
    case .list(let items): return items.map { "- \($0)" } + [""]
    case .table(let header, let rows):
      let all = [header, header.map { _ in "---" }] + rows
      return all.map(Self.row) + [""]
    case .picture(let file, let title, _): return ["![\(title)](\(file))", ""]
    }
  }

  private static func row(_ cells: [String]) -> String {
    cells.reduce(into: "|") { row, cell in
      row += (cell == "---" ? cell : cell.isEmpty ? " " : " \(cell) ") + "|"
    }
  }

  /// One element. A picture is within the page, which then is one file.
  var html: String {
    switch self {
    case .heading(let text, let level): return "<h\(level)>\(Self.inline(text))</h\(level)>"
    case .text(let text): return "<p>\(Self.inline(text))</p>"
    case .list(let items):
      return "<ul>\n" + items.map { "<li>\(Self.inline($0))</li>\n" }.joined() + "</ul>"
    case .table(let header, let rows):
      let head = header.map { "<th scope=\"col\">\(Self.inline($0))</th>" }.joined()
      let body = rows.map { row in
        "<tr>" + row.map { "<td>\(Self.inline($0))</td>" }.joined() + "</tr>\n"
      }
      return "<table>\n<thead><tr>\(head)</tr></thead>\n<tbody>\n\(body.joined())</tbody>\n</table>"
    case .picture(_, _, let svg): return "<figure>\n\(svg)</figure>"
    }
  }

  /// Escapes a text, and renders its code and bold words.
  private static func inline(_ text: String) -> String {
    let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;")
    return toggled(toggled(escaped, "**", "strong"), "`", "code")
  }

  /// Puts every second part between the marks into an element. A mark without a partner stays as it is.
  private static func toggled(_ text: String, _ mark: String, _ element: String) -> String {
    let parts = text.split(separator: mark, omittingEmptySubsequences: false)
    guard parts.count % 2 == 1 else { return text }
    return parts.enumerated().map { index, part in
      index % 2 == 0 ? String(part) : "<\(element)>\(part)</\(element)>"
    }.joined()
  }
}
