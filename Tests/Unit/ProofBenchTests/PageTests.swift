// SPDX-License-Identifier: Apache-2.0

import Console
import ProofBench
import Testing

/// Results as a whole run finds them, small.
func sample(foreign: Double? = 0.01, missing: [String] = []) -> Results {
  func timing(_ group: String, _ values: [(String, Double)], _ ratios: [(Int, Int)]) -> Timing {
    let series = values.map { Series(name: $0, rounds: [$1, $1 * 2, $1 * 3]) }
    return Timing(
      group: group, series: series,
      ratios: ratios.map { Ratio(series[$0], over: series[$1]) })
  }
  return Results(
    date: "2026-02-03", machine: "a machine", foreign: foreign, missing: missing,
    timings: [
      timing("proof", [("proof.c", 300), ("proof.swift", 303)], [(1, 0)]),
      timing("verify", [("repeat", 7000)], []),
      timing("measure.app", [("cold", 1e8), ("warm", 2e6), ("kept", 1e6)], [(0, 1), (0, 2)]),
      timing("measure.size", [("1.cold", 1e6), ("64.cold", 3e7), ("1.warm", 9e5)], []),
      timing("measure.files", [("1.cold", 1e6), ("1000.cold", 3e7)], []),
      timing("peers.round", [("round.proof", 700), ("round.ecdsa-openssl", 70_000)], [(1, 0)]),
      timing(
        "peers.a", [("proofprobe", 5e7), ("b3sum", 4e7), ("sha256sum", 5e8)], [(1, 0), (2, 0)]),
    ],
    figures: [
      Figure("bytes.token", 288), Figure("link.185.repeat.milliseconds", 290),
      Figure("link.23.repeat.milliseconds", 290), Figure("instructions.a/b", 1.0104),
      Figure("calls", uncounted: "apt-get install strace"),
    ])
}

@Suite("A report")
struct ReportPageTests {
  private func page(_ results: Results) -> String { ReportPage(results).files[0].text }

  @Test("is two pages and the results, called after its day, and five pictures that the pages show")
  func files() {
    let files = ReportPage(sample()).files
    #expect(
      files.map(\.name) == [
        "2026-02-03.md", "2026-02-03.html", "2026-02-03.json", "2026-02-03-size.svg",
        "2026-02-03-files.svg", "2026-02-03-unlock.svg", "2026-02-03-peers.svg",
        "2026-02-03-own.svg",
      ])
    for picture in files.dropFirst(3) {
      #expect(files[0].text.contains("](\(picture.name))"))
      #expect(files[1].text.contains(picture.text))
    }
  }

  @Test("shows peers on an axis of their own")
  func axes() throws {
    let files = ReportPage(sample()).files
    let peers = try #require(files.first { $0.name.hasSuffix("-peers.svg") }).text
    let own = try #require(files.first { $0.name.hasSuffix("-own.svg") }).text
    for words in ["b3sum: one file of 256 MiB", "ecdsa-openssl"] {
      #expect(peers.contains(words) && !own.contains(words), "\(words)")
    }
    for words in ["cold proof over warm, files by name", "proof in Swift over one in C"] {
      #expect(own.contains(words) && !peers.contains(words), "\(words)")
    }
  }

  @Test("in HTML is one file that loads nothing, with the rows of the page in Markdown")
  func html() {
    let text = ReportPage(sample(missing: ["a <tool> & another"])).files[1].text
    #expect(text.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
    #expect(text.contains("<title>Costs of ProofKit: 2026-02-03</title>"))
    #expect(
      text.contains(
        "<tr><td>proof.c</td><td>300 ns</td><td>600 ns</td><td>900 ns</td><td>3</td></tr>"))
    #expect(
      text.contains(
        "<td><code>b3sum</code> over ours, cold, one file of 256 MiB (<strong>it wins</strong>)</td>"
      ))
    #expect(text.contains("<li>a &lt;tool&gt; &amp; another</li>"))
    for part in ["src=", "href=", "<script", "url("] { #expect(!text.contains(part), "\(part)") }
  }

  @Test("tells the change since the run whose JSON it was given")
  func changes() throws {
    let earlier = try #require(EarlierRun(json: ReportPage(sample()).files[2].text))
    #expect(!page(sample()).contains("Change since"))
    let now = Results(
      date: "2026-03-04", machine: "another", foreign: 0, missing: [],
      timings: [
        Timing(
          group: "peers.round", series: [],
          ratios: [
            Ratio(
              Series(name: "round.ecdsa-openssl", rounds: [75_000]),
              over: Series(name: "round.proof", rounds: [1000]))
          ])
      ], figures: [])
    let text = ReportPage(now, since: earlier).files[0].text
    #expect(text.contains("## Change since 2026-02-03\n\nThe earlier run's machine: a machine."))
    #expect(
      text.contains("| ECDSA P-256 round over a proof and its check | 100 | 75.0 | -25.0 % |"))
    // Nothing that only one of the two measured.
    #expect(!text.contains("b3sum"))
    #expect(EarlierRun(json: "{}") == nil && EarlierRun(json: "no JSON") == nil)
  }

  @Test("is compared with the newest run before its day")
  func newest() {
    let names = [
      "2026-01-02.json", "2026-01-31.json", "2026-02-03.json", "2026-01-31.md", "service.md",
    ]
    #expect(EarlierRun.newest(in: names, before: "2026-02-03") == "2026-01-31.json")
    #expect(EarlierRun.newest(in: names, before: "2026-01-02") == nil)
  }

  @Test("has minimum, median, p99 and runs of every candidate")
  func times() {
    let text = page(sample())
    #expect(text.contains("| | minimum | median | p99 | runs |"))
    #expect(text.contains("| proof.c | 300 ns | 600 ns | 900 ns | 3 |"))
    #expect(text.contains("| cold | 100 ms | 200 ms | 300 ms | 3 |"))
    #expect(text.contains("| proof.swift/proof.c | 1.01 | 1.01 | 1.01 | 3 |"))
  }

  @Test("keeps what is deterministic apart, and says why something was not counted")
  func figures() {
    let parts = page(sample()).split(separator: "## Figures that do not depend on the day")
    #expect(parts.count == 2)
    #expect(parts[1].contains("| bytes.token | 288 |"))
    #expect(parts[1].contains("| instructions.a/b | 1.010 |"))
    #expect(parts[1].contains("| calls | not counted: apt-get install strace |"))
    #expect(!parts[0].contains("bytes.token"))
  }

  @Test("says where a peer wins")
  func wins() {
    let text = page(sample())
    #expect(
      text.contains("| `b3sum` over ours, cold, one file of 256 MiB (**it wins**) | **0.80** |"))
    #expect(text.contains("| `sha256sum` over ours, cold, one file of 256 MiB | **10.0** |"))
    #expect(text.contains("| ECDSA P-256 round over a proof and its check | **100** |"))
  }

  @Test("names what is missing")
  func missing() {
    let text = page(sample(missing: ["b3sum: apt-get install b3sum"]))
    #expect(text.contains("- b3sum: apt-get install b3sum\n"))
    #expect(!page(sample()).contains("Missing"))
  }

  @Test("says when others were on the machine, or that this is unknown")
  func load() {
    #expect(page(sample(foreign: 0.01)).contains("Other programs took 1.0 % of the processors"))
    #expect(
      page(sample(foreign: 0.4))
        .contains("**Measured under load: other programs took 40.0 % of the processors.**"))
    #expect(page(sample(foreign: nil)).contains("What else ran on the machine is not known."))
    #expect(sample(foreign: nil).isLoaded)
    #expect(!sample(foreign: 0.05).isLoaded)
  }

  @Test("has no space at the end of a line, and one newline at its own")
  func form() {
    for file in ReportPage(sample()).files {
      #expect(file.text.hasSuffix("\n") && !file.text.hasSuffix("\n\n"))
      #expect(!file.text.split(separator: "\n").contains { $0.hasSuffix(" ") })
    }
  }

  @Test("of nothing is a page without pictures")
  func empty() {
    let results = Results(
      date: "2026-02-03", machine: "m", foreign: 0, missing: [], timings: [], figures: [])
    #expect(ReportPage(results).files.map(\.name.count) == [13, 15, 15])
  }
}

@Suite("Results")
struct ResultsTests {
  @Test("are JSON with every number that people see")
  func json() {
    let text = sample(missing: ["x"]).json.description
    for part in [
      "\"date\": \"2026-02-03\"", "\"foreignLoad\": 0.010", "\"group\": \"proof\"",
      "\"name\": \"proof.c\"", "\"min\": 300.0", "\"median\": 600.0", "\"p99\": 900.0",
      "\"runs\": 3", "\"proof.swift/proof.c\": {", "\"bytes.token\": 288",
      "\"instructions.a/b\": 1.0104", "\"calls\": null",
    ] { #expect(text.contains(part), "\(part)") }
  }

  @Test("are words with what is missing last")
  func text() {
    let text = sample(missing: ["b3sum: apt-get install b3sum"]).text()
    #expect(text.contains("ratio, pair by pair"))
    #expect(text.hasSuffix("missing: b3sum: apt-get install b3sum"))
  }

  @Test(
    "have times with three digits and a unit",
    arguments: [
      (0.5, "0.50 ns"), (62.14, "62.1 ns"), (999.4, "999 ns"), (999.6, "1.00 µs"),
      (62_140, "62.1 µs"), (999_600, "1.00 ms"), (1.5e9, "1.50 s"), (4.2e12, "4200 s"),
    ])
  func units(nanoseconds: Double, text: String) {
    #expect(words(nanoseconds: nanoseconds) == text)
  }
}
