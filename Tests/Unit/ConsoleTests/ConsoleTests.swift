// SPDX-License-Identifier: Apache-2.0

import Console
import Testing

@Suite("JSON")
struct JSONTests {
  @Test("is valid whatever the text, and keeps its members in order")
  func text() {
    let json = JSON.object([
      ("z", .string("a\"b\\c\n\t\u{01}\u{7F}é")),
      ("a", .array([.null, .bool(true), .integer(-3)])),
      ("empty", .array([])), ("none", .object([])),
    ])
    #expect(
      json.description == """
        {
          "z": "a\\"b\\\\c\\n\\t\\u0001\\u007fé",
          "a": [
            null,
            true,
            -3
          ],
          "empty": [],
          "none": {}
        }
        """)
  }

  @Test(
    "has numbers with as many decimals as asked for",
    arguments: [
      (0.0, 2, "0.00"), (1.005, 1, "1.0"), (-2.5, 1, "-2.5"), (0.049, 1, "0.0"), (-0.01, 1, "0.0"),
      (1234.5678, 3, "1234.568"), (7.9, 0, "8"), (.infinity, 1, "null"), (.nan, 1, "null"),
      (0.5, 3, "0.500"), (-7.6, 0, "-8"), (-0.4, 0, "0"), (10, 2, "10.00"),
      (999_999_999_999_999, 0, "999999999999999"), (1e15, 0, "\(1e15)"), (-1e14, 1, "\(-1e14)"),
      (99_999_999_999_999.9, 1, "99999999999999.9"),
    ] as [(Double, Int, String)])
  func decimals(value: Double, decimals: Int, text: String) {
    #expect(JSON.decimal(value, decimals: decimals).description == text)
  }
}

@Suite("A table")
struct TableTests {
  @Test("has columns as wide as their widest cell, and no blanks at the end of a line")
  func lines() {
    var table = Table(["name", "ns", "note"], [.left, .right, .left])
    table.add(["proof", "351", ""])
    table.add(["a", "12345", "slow"])
    #expect(
      table.lines { _, _, cell in cell } == [
        "name      ns  note", "proof    351", "a      12345  slow",
      ])
    #expect(table.lines { row, _, cell in row == 0 ? "" : cell }.first == "    ")
    #expect(
      table.lines { row, column, _ in "\(row).\(column)" } == [
        "0.0  0.1  0.2", "1.0  1.1", "2.0  2.1  2.2",
      ])

    var left = Table(["", "done", "ns"], [.left, .left, .right])
    left.add(["ok", "a", ""])
    #expect(left.lines { _, _, cell in cell }.last == "ok  a")
    left.add(["", "", ""])
    #expect(left.lines { _, _, cell in cell }.last == "")
    left.add(["", "", "7"])
    #expect(left.lines { _, _, cell in cell }.last == String(repeating: " ", count: 11) + "7")
  }
}
