// SPDX-License-Identifier: Apache-2.0

/// Rows in columns as wide as their widest cell. Widths count characters, so only ASCII aligns
/// exactly.
package struct Table: Sendable {
  /// The alignment of a column's cells.
  package enum Alignment: Sendable {
    case left
    case right
  }

  private let alignments: [Alignment]
  private var rows: [[String]]

  package init(_ header: [String], _ alignments: [Alignment]) {
    precondition(header.count == alignments.count, "each column has a header and an alignment")
    self.alignments = alignments
    rows = [header]
  }

  package mutating func add(_ row: [String]) {
    precondition(row.count == alignments.count, "each row has a cell in each column")
    rows.append(row)
  }

  /// The lines, the header first. Each cell is padded before `style` colours it, so that colours do
  /// not shift later columns.
  package func lines(style: (_ row: Int, _ column: Int, _ cell: String) -> String) -> [String] {
    let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.enumerated().map { row, cells in
      // Columns that are empty to the end of the line add no trailing blanks.
      let used = cells.lastIndex { !$0.isEmpty } ?? 0
      let padded = cells.enumerated().map { column, cell in
        let blanks = String(repeating: " ", count: widths[column] - cell.count)
        let isLast = column == used
        let text =
          switch alignments[column] {
          case .left: isLast ? cell : cell + blanks
          case .right: blanks + cell
          }
        return style(row, column, text)
      }
      return padded.prefix(used + 1).joined(separator: "  ")
    }
  }
}
