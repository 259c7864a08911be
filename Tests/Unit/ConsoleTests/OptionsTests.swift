// SPDX-License-Identifier: Apache-2.0

import Console
import Testing

@Suite("A command line")
struct OptionsTests {
  private let known = [
    Option("--json", help: "as JSON"), Option("--filter", "WORD", help: "some"),
    Option("--number", "N", help: "how many"), Option("--at", "ADDRESS:PORT", help: "where"),
  ]

  private func options(_ arguments: String...) throws -> Options {
    try Options(arguments, taking: known)
  }

  private func refusal(_ body: () throws -> Void) -> String? {
    #expect(throws: UsageError.self) { try body() }?.description
  }

  @Test("is read against the options that a program takes")
  func parse() throws {
    let options = try options("--filter", "proof", "--json")
    #expect(options.has("--json"))
    #expect(options.value("--filter") == "proof")
    #expect(!options.has("--help") && options.operands.isEmpty)
    #expect(try self.options("-h").has("--help"))
    #expect(try self.options("--filter", "-5").value("--filter") == "-5")
  }

  @Test("asks for help whatever else it has, and help takes no value")
  func help() throws {
    let options = try Options(["-h", "add", "--help"], taking: known, takesOperands: true)
    #expect(options.has("--help") && options.value("--help") == "")
    #expect(options.operands == ["add"])
    #expect(known.map(\.words) == ["--json", "--filter WORD", "--number N", "--at ADDRESS:PORT"])
    #expect(known.allSatisfy { !$0.isRepeatable })
  }

  @Test("takes an option again only where it says so")
  func repeated() throws {
    let folders = [Option("--bundle", "FOLDER", help: "folders", isRepeatable: true)]
    let options = try Options(["--bundle", "one", "--bundle", "two"], taking: folders)
    #expect(options.values("--bundle") == ["one", "two"] && options.value("--bundle") == "two")
    #expect(folders[0].isRepeatable)
    #expect(try Options([], taking: folders).values("--bundle").isEmpty)
    #expect(refusal { _ = try self.options("--filter", "a", "--filter", "b") } != nil)
  }

  @Test(
    "with an unknown word is refused, and the error names the word",
    arguments: [
      (["--jsno"], "unknown argument: --jsno"), (["json"], "unknown argument: json"),
      (["--filter"], "--filter needs a value"), (["--filter", "--json"], "--filter needs a value"),
      (["--json", "--json"], "--json is given twice"),
      (["--filter", "a", "--filter", "a"], "--filter is given twice"),
    ])
  func refuse(arguments: [String], words: String) {
    #expect(refusal { _ = try Options(arguments, taking: known) } == words)
  }

  @Test("may have words between its options, if the program takes any")
  func operands() throws {
    let options = try Options(
      ["add", "--filter", "x", "-", "@file"], taking: known, takesOperands: true)
    #expect(options.operands == ["add", "-", "@file"])
    #expect(options.value("--filter") == "x")
    #expect(
      refusal { _ = try Options(["add", "--jsno"], taking: known, takesOperands: true) }
        == "unknown argument: --jsno")
  }

  @Test("says what is missing")
  func needed() throws {
    #expect(try options("--filter", "a").needed("--filter") == "a")
    #expect(refusal { _ = try options().needed("--filter") } == "--filter is missing")
  }

  @Test("has lists between commas")
  func lists() throws {
    #expect(try options("--filter", "a,b,,c").list("--filter") == ["a", "b", "c"])
    #expect(try options("--filter", "").list("--filter").isEmpty)
    #expect(try options().list("--filter").isEmpty)
  }

  @Test("has whole numbers within bounds, and says what the bounds are")
  func numbers() throws {
    #expect(try options().number("--number", within: 1...9) == nil)
    #expect(try options("--number", "9").number("--number", within: 1...9) == 9)
    #expect(try options("--number", "-1").number("--number", within: -1...9) == -1)
    #expect(
      try options("--number", "\(UInt64.max)").number("--number", within: 0...UInt64.max) == .max)
    for text in ["0", "10", "x", "", "1.5", "0x1", "99999999999999999999"] {
      #expect(
        refusal { _ = try options("--number", text).number("--number", within: 1...9) }
          == "--number is \(text); it takes 1 to 9")
    }
    #expect(
      refusal { _ = try options("--number", "0").number("--number", within: 1...Int.max) }
        == "--number is 0; it takes a whole number from 1")
  }

  private enum Form: String, CaseIterable { case json, text }

  @Test("has choices, and says what they are")
  func choices() throws {
    #expect(try options("--filter", "text").choice("--filter", of: Form.self) == .text)
    #expect(try options().choice("--filter", of: Form.self) == nil)
    #expect(
      refusal { _ = try options("--filter", "xml").choice("--filter", of: Form.self) }
        == "--filter is xml; it takes json or text")
  }

  @Test("has addresses with their port")
  func endpoints() throws {
    #expect(try options("--at", "127.0.0.1:80").endpoint("--at")! == ("127.0.0.1", 80))
    #expect(try options("--at", "[::1]:0").endpoint("--at")! == ("::1", 0))
    // Half a pair of brackets stays, for the system to refuse.
    for half in ["[::1", "::1]", "a]b["] {
      #expect(try options("--at", "\(half):65535").endpoint("--at")! == (half, 65_535))
    }
    #expect(try options().endpoint("--at") == nil)
    for text in ["127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1", ""] {
      #expect(
        refusal { _ = try options("--at", text).endpoint("--at") }
          == "--at is \(text); it must be like 127.0.0.1:8443 or [::1]:8443")
    }
  }
}

@Suite("How a program is called")
struct UsageTests {
  private static let known = [
    Option("--json", help: "as JSON"), Option("--filter", "WORD", help: "some"),
  ]
  private static let usage = Usage("bench", "[options]", "Measures.", known)

  @Test("is explained option by option")
  func help() {
    #expect(
      Self.usage.help == """
        usage: bench [options]

        Measures.

          --json         as JSON
          --filter WORD  some
          --version      prints the version
          --help         prints this
        """)
    #expect(Usage.columns([("a", "b"), ("long", "c")]) == "  a     b\n  long  c")
    #expect(Usage.columns([]) == "")
  }

  @Test("takes words between its options where the program takes any")
  func operands() throws {
    let open = Usage("bench run", "NAME", "Runs.", Self.known, takesOperands: true)
    #expect(try open.read(["a", "--json", "b"]).operands == ["a", "b"])
    #expect(throws: UsageError.self) { try Self.usage.read(["a"]) }
    #expect(open.versionLine == "bench \(Version.text)")
    #expect(try open.read(["--version"]).has("--version"))
  }

  @Test("makes what the program goes by")
  func made() {
    #expect(Self.usage.made(of: ["--filter", "a"]) { $0.value("--filter") } == "a")
  }

  @Test(
    "ends with 2 for what cannot be understood, and says so",
    arguments: [
      ("--jsno", "bench: unknown argument: --jsno; --help tells more\n"),
      ("--filter a", "bench: no such a; --help tells more\n"),
    ])
  func refused(arguments: String, words: String) async throws {
    #expect(try await complaint(of: arguments, endingWith: .exitCode(2)) == words)
  }

  @Test("--version prints the program and the one version, and ends with 0")
  func versioned() async throws {
    #expect(Self.usage.versionLine == "bench \(Version.text)")
    #expect(Version.text.split(separator: ".").compactMap { Int($0) }.count == 3)
    _ = try await complaint(of: "--version", endingWith: .exitCode(0))
  }

  @Test("ends with 0 for help, whatever else is asked")
  func helped() async throws {
    _ = try await complaint(of: "--filter a --help", endingWith: .exitCode(0))
  }

  /// The complaint of a process started with these arguments.
  private func complaint(
    of arguments: String, endingWith condition: ExitTest.Condition
  ) async throws -> String {
    let result = try await #require(
      processExitsWith: condition, observing: [\.standardErrorContent]
    ) { [arguments] in
      UsageTests.usage.made(of: arguments.split(separator: " ").map(String.init)) { options in
        throw UsageError("no such \(options.value("--filter") ?? "")")
      }
    }
    return String(decoding: result.standardErrorContent, as: UTF8.self)
  }
}
