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

    var left = Table(["", "done", "ns"], [.left, .left, .right])
    left.add(["ok", "a", ""])
    #expect(left.lines { _, _, cell in cell }.last == "ok  a")
  }
}

@Suite("A command line")
struct OptionsTests {
  let known = [Option("--json", help: "as JSON"), Option("--filter", "WORD", help: "some")]

  @Test("is read against the options that a program takes")
  func parse() throws {
    let options = try Options(["--filter", "proof", "--json"], taking: known)
    #expect(options.has("--json"))
    #expect(options.value("--filter") == "proof")
    #expect(!options.has("--help"))
    #expect(try Options(["-h"], taking: known).has("--help"))
  }

  @Test("that nobody understands is refused, with the word that was not understood")
  func refuse() {
    let unknown = #expect(throws: UsageError.self) { try Options(["--jsno"], taking: known) }
    #expect(unknown?.description == "unknown argument: --jsno")
    let missing = #expect(throws: UsageError.self) { try Options(["--filter"], taking: known) }
    #expect(missing?.description == "--filter needs a value")
  }

  @Test("is explained option by option")
  func help() {
    #expect(
      Options.help("bench [options]", "Measures.", known) == """
        usage: bench [options]

        Measures.

          --json         as JSON
          --filter WORD  some
          --help         prints this
        """)
  }
}
