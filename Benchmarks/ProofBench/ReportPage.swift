import Console

/// A run as a page in Markdown, with its pictures.
package struct ReportPage: Sendable {
  package struct File: Sendable {
    package let name: String
    package let text: String
  }

  private let results: Results

  package init(_ results: Results) { self.results = results }

  /// The page, and then the pictures that it shows.
  package var files: [File] {
    let plots = plots
    return [File(name: "\(results.date).md", text: page(plots.map { ($0.file, $0.title) }))]
      + plots.map { File(name: $0.file, text: $0.svg) }
  }

  private func page(_ plots: [(file: String, title: String)]) -> String {
    var lines = ["# Costs of ProofKit: \(results.date)", ""]
    lines += head
    lines += ratios
    lines += plots.flatMap { ["![\($0.title)](\($0.file))", ""] }
    lines += ["## Times", ""]
    lines += [
      "Each round runs every candidate of its group once, another one first each time. `cold` reads and",
      "hashes every byte (from the page cache); `first` is the first measurement that trusts the owner, and learns;",
      "`warm` looks files up by name, `kept` keeps them open. Ratios are taken pair by pair, of two",
      "candidates within one round.", "",
    ]
    lines += results.timings.flatMap(Self.tables)
    lines += figures
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n") + "\n"
  }

  private var head: [String] {
    var lines = ["`make bench` repeats it. Machine: \(results.machine).", ""]
    let percent = results.foreign.map { ($0 * 100).text(decimals: 1) }
    switch (percent, results.isLoaded) {
    case (nil, _): lines.append("What else ran on the machine is not known.")
    case (let percent?, false):
      lines.append("Other programs took \(percent) % of the processors during the run.")
    case (let percent?, true):
      lines.append(
        "**Measured under load: other programs took \(percent) % of the processors.** Times are worse "
          + "than on a quiet machine; look at ratios.")
    }
    lines.append("")
    if !results.missing.isEmpty {
      lines += ["Missing on this machine, and so not compared with:", ""]
      lines += results.missing.map { "- \($0)" } + [""]
    }
    return lines
  }

  private var ratios: [String] {
    let rows = headlines
    guard !rows.isEmpty else { return [] }
    return ["## Ratios", "", "| what | ratio | of pairs |", "|---|---|---|"]
      + rows.map {
        "| \($0.words) | **\(threeDigits($0.ratio.value))** | \($0.ratio.pairs.count) |"
      }
      + [""]
  }

  static func tables(_ timing: Timing) -> [String] {
    var lines = [
      "### \(timing.group)", "", "| | minimum | median | p99 | runs |", "|---|---|---|---|---|",
    ]
    for series in timing.series {
      let spread = series.spread
      let times = [spread.minimum, spread.median, spread.p99].map(words(nanoseconds:))
      lines.append("| \(series.name) | \(times.joined(separator: " | ")) | \(spread.count) |")
    }
    lines.append("")
    guard !timing.ratios.isEmpty else { return lines }
    lines += ["| ratio | minimum | median | p99 | pairs |", "|---|---|---|---|---|"]
    for ratio in timing.ratios {
      let pairs = ratio.pairs
      let numbers = [pairs.minimum, pairs.median, pairs.p99].map(threeDigits)
      lines.append("| \(ratio.name) | \(numbers.joined(separator: " | ")) | \(pairs.count) |")
    }
    return lines + [""]
  }

  private var figures: [String] {
    guard !results.figures.isEmpty else { return [] }
    let rows = results.figures.map { figure in
      "| \(figure.name) | \(figure.reason.map { "not counted: \($0)" } ?? figure.text) |"
    }
    return [
      "## Figures that do not depend on the day", "",
      "`make check-bench` holds these to `Benchmarks/Thresholds`. Instructions are callgrind's for one call,",
      "calls are system calls (without those of threads and memory), link times are the virtual clock's, and",
      "`air` is the time that the radio sends, receives and spaces packets, on the LE 1M PHY.", "",
      "| | |", "|---|---|",
    ] + rows + [""]
  }
}

/// The figures that stand first on the page.
extension ReportPage {
  struct Headline {
    /// With the one that costs more first.
    let words: String
    let ratio: Ratio
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
      let note = ratio.value < 1 ? "\(words) (**it wins**)" : words
      return Headline(words: note, ratio: ratio)
    }
  }

  struct Picture {
    let file: String
    let title: String
    let svg: String
  }

  private var plots: [Picture] {
    [
      curve("measure.size", "size", "Cost against bundle size: files of 1 MiB", "MiB"),
      curve("measure.files", "files", "Cost against number of files: files of 4 KiB", "files"),
      unlock, peers,
    ].compactMap { $0 }
  }

  private func curve(
    _ group: String, _ name: String, _ title: String, _ across: String
  ) -> Picture? {
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
    return Picture(file: "\(results.date)-\(name).svg", title: title, svg: plot.svg)
  }

  /// The parts of one unlock, in order: what the app does, what the radio takes, what the hardware does.
  private var unlock: Picture? {
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
    return Picture(file: "\(results.date)-unlock.svg", title: title, svg: bars.svg)
  }

  private var peers: Picture? {
    let bars = headlines.filter { $0.ratio.under != "proof.c" && $0.ratio.under != "floor.sodium" }
      .map { line in
        Bars.Bar(
          line.ratio.under == "proofprobe" || line.ratio.under == "round.proof"
            ? Self.short(line) : "cold over \(line.ratio.under == "kept" ? "warm, kept" : "warm")",
          line.ratio.value, threeDigits(line.ratio.value))
      }
    guard !bars.isEmpty else { return nil }
    let title = "Ratios to peers: to the right of the line, the peer costs more (logarithmic)"
    return Picture(
      file: "\(results.date)-peers.svg", title: title, svg: Bars(title, bars, even: 1).svg)
  }

  private static func short(_ line: Headline) -> String {
    line.ratio.over.hasPrefix("round.")
      ? String(line.ratio.over.dropFirst("round.".count))
      : line.words.split(separator: " over ours, cold, ").map { $0.filter { $0 != "`" } }
        .joined(separator: ": ").replacing(" (**it wins**)", with: "")
  }
}
