// SPDX-License-Identifier: Apache-2.0

import Console
import ProofBench
import Testing

@Suite("The options of proof-bench")
struct BenchOptionsTests {
  private func options(_ arguments: String...) throws -> BenchOptions {
    try BenchOptions(BenchOptions.usage.read(arguments))
  }

  private let names = ["proof", "token", "peers.round", "peers.a"]

  @Test("have values where none are given")
  func defaults() throws {
    let options = try options()
    #expect(options.rounds == 301)
    #expect(options.seconds == 300)
    #expect(options.thresholds == "Benchmarks/Thresholds")
    #expect(options.results == "docs/results")
    #expect(options.measuresTimes && options.usesInstruments)
    #expect(!options.json && !options.checks && !options.reports)
    #expect(try options.wanted(names) == names)
  }

  @Test("choose groups by a part of their name")
  func filter() throws {
    #expect(try options("--filter", "peers").wanted(names) == ["peers.round", "peers.a"])
    #expect(try options("--filter", "token").wanted(names) == ["token"])
  }

  @Test(
    "refuse a filter that lets nothing through, and say what there is", arguments: ["prof", ""])
  func unknown(word: String) throws {
    let options = try options("--filter", word)
    let error = #expect(throws: UsageError.self) { try options.wanted(names) }
    #expect(
      error?.description
        == "no group is called like \"\(word)\"; there are proof, token, peers.round, peers.a")
  }

  @Test("check without measuring times, unless ratios are asked for")
  func checks() throws {
    #expect(try !options("--check").measuresTimes)
    #expect(try options("--check-ratios").measuresTimes)
  }

  @Test(
    "refuse what makes no sense, with the value",
    arguments: [
      (["--rounds", "2"], "--rounds is 2; it takes 3 to 10001"),
      (["--rounds", "10002"], "--rounds is 10002; it takes 3 to 10001"),
      (["--rounds", "many"], "--rounds is many; it takes 3 to 10001"),
      (["--seconds", "0"], "--seconds is 0; it takes 1 to 480"),
      (["--seconds", "-5"], "--seconds is -5; it takes 1 to 480"),
      (["--seconds", "481"], "--seconds is 481; it takes 1 to 480"),
      (
        ["--seconds", "99999999999999999999"],
        "--seconds is 99999999999999999999; it takes 1 to 480"
      ),
      (["--seconds", ""], "--seconds is ; it takes 1 to 480"),
      (["--seconds"], "--seconds needs a value"),
      (["--instrumented", "all"], "--instrumented is all; it takes memory or system"),
      (["--fast"], "unknown argument: --fast"),
      (["proof"], "unknown argument: proof"),
      (
        ["--report", "--check"],
        "--report and --check are two runs: a report is not held to thresholds"
      ),
      (
        ["--filter", "proof", "--check"],
        "--filter leaves out what --report and --check need"
      ),
      (["--filter", "proof", "--report"], "--filter leaves out what --report and --check need"),
    ])
  func hostile(arguments: [String], words: String) {
    let error = #expect(throws: UsageError.self) {
      try BenchOptions(BenchOptions.usage.read(arguments))
    }
    #expect(error?.description == words)
  }
}
