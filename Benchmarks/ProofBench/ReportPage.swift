// SPDX-License-Identifier: Apache-2.0

import Console

/// A run as a page in Markdown with its pictures, as a page in HTML that has them within, and as JSON.
package struct ReportPage: Sendable {
  package struct File: Sendable {
    package let name: String
    package let text: String
  }

  private let results: Results
  private let earlier: EarlierRun?

  /// - Parameters:
  ///   - results: What the run found.
  ///   - earlier: The run to compare with.
  package init(_ results: Results, since earlier: EarlierRun? = nil) {
    self.results = results
    self.earlier = earlier
  }

  /// The page in Markdown, the one in HTML, the results as JSON, and the pictures that the first shows.
  package var files: [File] {
    let blocks = blocks
    let pictures = blocks.compactMap { block -> File? in
      if case .picture(let file, _, let svg) = block { File(name: file, text: svg) } else { nil }
    }
    return [
      File(name: "\(results.date).md", text: Self.markdown(blocks)),
      File(name: "\(results.date).html", text: html(blocks)),
      File(name: "\(results.date).json", text: results.json.description + "\n"),
    ] + pictures
  }

  private var title: String { "Costs of ProofKit: \(results.date)" }

  private var blocks: [Block] {
    var blocks: [Block] = [.heading(title, level: 1)]
    blocks += head + ratios + changes + plots + [.heading("Times", level: 2)]
    blocks.append(
      .text(
        """
        Each round runs every candidate of its group once, another one first each time. `cold` reads and
        hashes every byte (from the page cache); `first` is the first measurement that trusts the owner, and learns;
        `warm` looks files up by name, `kept` keeps them open. Ratios are taken pair by pair, of two
        candidates within one round.
        """))
    return blocks + results.timings.flatMap(Self.tables) + figures
  }

  private static func markdown(_ blocks: [Block]) -> String {
    var lines = blocks.flatMap(\.markdown)
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n") + "\n"
  }

  private func html(_ blocks: [Block]) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(title)</title>
    <style>
    :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
    body { max-width: 60rem; margin: 0 auto; padding: 1rem; }
    table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
    th, td { border-bottom: 1px solid #8888; padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
    td:not(:first-child) { font-variant-numeric: tabular-nums; }
    figure { margin: 1rem 0; overflow-x: auto; }
    </style>
    </head>
    <body>
    \(blocks.map(\.html).joined(separator: "\n"))
    </body>
    </html>

    """
  }

  private var head: [Block] {
    var blocks: [Block] = [.text("`make bench` repeats it. Machine: \(results.machine).")]
    let percent = results.foreign.map { ($0 * 100).text(decimals: 1) }
    switch (percent, results.isLoaded) {
    case (nil, _): blocks.append(.text("What else ran on the machine is not known."))
    case (let percent?, false):
      blocks.append(.text("Other programs took \(percent) % of the processors during the run."))
    case (let percent?, true):
      blocks.append(
        .text(
          "**Measured under load: other programs took \(percent) % of the processors.** Times are worse "
            + "than on a quiet machine; look at ratios."))
    }
    if !results.missing.isEmpty {
      blocks += [
        .text("Missing on this machine, and so not compared with:"), .list(results.missing),
      ]
    }
    return blocks
  }

  private var ratios: [Block] {
    let rows = headlines.map {
      [$0.words, "**\(threeDigits($0.ratio.value))**", "\($0.ratio.pairs.count)"]
    }
    guard !rows.isEmpty else { return [] }
    return [
      .heading("Ratios", level: 2), .table(header: ["what", "ratio", "of pairs"], rows: rows),
    ]
  }

  /// The same ratios beside those of the earlier run. Times are not compared: the machine may be another one.
  private var changes: [Block] {
    guard let earlier else { return [] }
    let rows = headlines.compactMap { line -> [String]? in
      guard let before = earlier.median(line.group, line.ratio.name), before > 0 else { return nil }
      let now = line.ratio.value
      let percent = (now / before - 1) * 100
      let sign = percent < 0 ? "" : "+"
      return [
        line.plain, threeDigits(before), threeDigits(now), "\(sign)\(percent.text(decimals: 1)) %",
      ]
    }
    guard !rows.isEmpty else { return [] }
    return [
      .heading("Change since \(earlier.date)", level: 2),
      .text("The earlier run's machine: \(earlier.machine)."),
      .table(header: ["ratio", "then", "now", "change"], rows: rows),
    ]
  }

  static func tables(_ timing: Timing) -> [Block] {
    let times = timing.series.map { series in
      let spread = series.spread
      return [series.name] + [spread.minimum, spread.median, spread.p99].map(words(nanoseconds:))
        + ["\(spread.count)"]
    }
    var blocks: [Block] = [
      .heading(timing.group, level: 3),
      .table(header: ["", "minimum", "median", "p99", "runs"], rows: times),
    ]
    guard !timing.ratios.isEmpty else { return blocks }
    let ratios = timing.ratios.map { ratio in
      let pairs = ratio.pairs
      return [ratio.name] + [pairs.minimum, pairs.median, pairs.p99].map(threeDigits)
        + ["\(pairs.count)"]
    }
    blocks.append(.table(header: ["ratio", "minimum", "median", "p99", "pairs"], rows: ratios))
    return blocks
  }

  private var figures: [Block] {
    guard !results.figures.isEmpty else { return [] }
    let rows = results.figures.map { figure in
      [figure.name, figure.reason.map { "not counted: \($0)" } ?? figure.text]
    }
    return [
      .heading("Figures that do not depend on the day", level: 2),
      .text(
        """
        `make bench PART=figures` holds these to `Benchmarks/Thresholds`. Instructions are callgrind's for one call,
        calls are system calls (without those of threads and memory), link times are the virtual clock's, and
        `air` is the time that the radio sends, receives and spaces packets, on the LE 1M PHY.
        """),
      .table(header: ["", ""], rows: rows),
    ]
  }
}

/// The figures that stand first on the page.
extension ReportPage {
  struct Headline {
    let group: String
    /// With the one that costs more first.
    let plain: String
    let ratio: Ratio

    /// Says where the peer wins.
    var words: String { ratio.value < 1 ? "\(plain) (**it wins**)" : plain }
  }

  /// The ratios that decide, as far as they were measured.
  var headlines: [Headline] {
    let trees = [
      ("a", "one file of 256 MiB"), ("b", "2,000 files of 64 KiB"), ("c", "20,000 files of 4 KiB"),
      ("d", "2,000 files of 100 KiB"),
    ]
    let programs = [
      ("openssl-dgst", "`openssl dgst`"), ("sha256sum", "`sha256sum`"), ("b3sum", "`b3sum`"),
      ("b3sum-1-thread", "`b3sum`, 1 thread"),
    ]
    let wanted: [(String, String, String)] =
      trees.flatMap { tree, files in
        programs.map { name, words in
          ("peers.\(tree)", "\(name)/proofprobe", "\(words) over ours, cold, \(files)")
        }
      } + [
        ("measure.app", "cold/warm", "cold proof over warm, files by name"),
        ("measure.app", "cold/kept", "cold proof over warm, files kept open"),
        (
          "peers.round", "round.ecdsa-openssl/round.proof",
          "ECDSA P-256 round over a proof and its check"
        ),
        (
          "peers.round", "round.ed25519-sodium/round.proof",
          "Ed25519 round (libsodium) over a proof and its check"
        ),
        (
          "peers.round", "round.ed25519-openssl/round.proof",
          "Ed25519 round (OpenSSL) over a proof and its check"
        ),
        (
          "peers.round", "round.tpm-quote/round.proof",
          "TPM quote in swtpm and its check over a proof and its check"
        ),
        (
          "peers.round", "round.hmac-openssl/round.proof",
          "HMAC by OpenSSL in one call, twice, over a proof and its check"
        ),
        (
          "peers.round", "round.hmac-openssl-kept/round.proof",
          "HMAC by OpenSSL, its key kept as ours is, twice, over a proof and its check"
        ),
        ("proof", "proof.c/floor.sodium", "proof in C over two bare compressions"),
        ("proof", "proof.swift/proof.c", "proof in Swift over one in C"),
      ]
    return wanted.compactMap { group, name, words in
      guard let ratio = results.ratio(group, name) else { return nil }
      return Headline(group: group, plain: words, ratio: ratio)
    }
  }

  private var plots: [Block] {
    [
      curve("measure.size", "size", "Cost against bundle size: files of 1 MiB", "MiB"),
      curve("measure.files", "files", "Cost against number of files: files of 4 KiB", "files"),
      unlock, peers, own,
    ].compactMap { $0 }
  }

  private func curve(
    _ group: String, _ name: String, _ title: String, _ across: String
  ) -> Block? {
    guard let timing = results.timing(group) else { return nil }
    let lines = ["cold", "warm", "kept"].map { way in
      Plot.Line(
        way,
        timing.series.compactMap { series in
          let words = series.name.split(separator: ".")
          guard words.count == 2, words[1] == way, let count = Double(words[0]) else { return nil }
          return (x: count, y: series.spread.median)
        })
    }
    let plot = Plot("\(title) (median)", across: across, lines.filter { !$0.points.isEmpty })
    return .picture(file: "\(results.date)-\(name).svg", title: title, svg: plot.svg)
  }

  /// The parts of one unlock, in order: what the app does, what the radio takes, what the hardware does.
  private var unlock: Block? {
    var parts: [(String, Double)] = []
    func add(_ name: String, _ group: String, _ series: String) {
      guard let found = results.timing(group)?.series(series) else { return }
      parts.append((name, found.spread.median))
    }
    for mtu in [185, 23] {
      if let time = results.figure("link.\(mtu).repeat.milliseconds") {
        parts.append(("link, from connecting on, MTU \(mtu)", time * 1e6))
      }
    }
    for mtu in [185, 23] {
      if let time = results.figure("link.\(mtu).repeat.air.microseconds") {
        parts.append(("of it on the air, MTU \(mtu)", time * 1e3))
      }
    }
    add("measure, warm", "measure.app", "warm")
    add("measure, warm, files kept", "measure.app", "kept")
    add("hardware: challenge and judgement", "verify", "repeat")
    add("one proof", "proof", "proof.swift")
    guard parts.count > 1 else { return nil }
    let title = "Latency of one unlock, by part (logarithmic)"
    let bars = Bars(title, parts.map { Bars.Bar($0, $1, words(nanoseconds: $1)) })
    return .picture(file: "\(results.date)-unlock.svg", title: title, svg: bars.svg)
  }

  private var peers: Block? {
    bars("peers", "Ratios to peers: to the right of the line, the peer costs more (logarithmic)") {
      $0.group.hasPrefix("peers.")
    }
  }

  /// Our own two ways beside each other. Peers stand on another axis.
  private var own: Block? {
    bars("own", "Ratios of our own: right of the line, the first one costs more (logarithmic)") {
      !$0.group.hasPrefix("peers.")
    }
  }

  private func bars(_ name: String, _ title: String, of isShown: (Headline) -> Bool) -> Block? {
    let bars = headlines.filter(isShown).map {
      Bars.Bar(Self.short($0), $0.ratio.value, threeDigits($0.ratio.value))
    }
    guard !bars.isEmpty else { return nil }
    return .picture(
      file: "\(results.date)-\(name).svg", title: title, svg: Bars(title, bars, even: 1).svg)
  }

  private static func short(_ line: Headline) -> String {
    guard line.group.hasPrefix("peers.") else { return line.plain }
    return line.ratio.over.hasPrefix("round.")
      ? String(line.ratio.over.dropFirst("round.".count))
      : line.plain.split(separator: " over ours, cold, ").map { $0.filter { $0 != "`" } }
        .joined(separator: ": ")
  }
}
