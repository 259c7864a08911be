// SPDX-License-Identifier: Apache-2.0

import ProofBench

/// Counts instructions with valgrind's callgrind and system calls with strace: this program runs itself
/// under them, with `--instrumented`, and prints name and number of each operation.
struct Instruments {
  private let program = "\(Workplace.programs)/proof-bench"

  /// Instructions and system calls of every operation, and what they come to.
  func figures() throws -> [Figure] {
    try instructions() + calls()
  }

  private func instructions() throws -> [Figure] {
    guard Subprocess.find("valgrind") != nil else {
      return [Figure("instructions", uncounted: "apt-get install valgrind")]
    }
    let folder = try Workplace.folder("callgrind")
    // Strip the compiler's debug information: older valgrinds cannot read all of it.
    let stripped = folder + "/proof-bench"
    try Subprocess.run(["strip", "--strip-debug", "-o", stripped, program])
    // Each call of the window's body is dumped into a file of its own, and nothing else is counted.
    let done = try run(
      [
        "valgrind", "--tool=callgrind", "--quiet", "--collect-atstart=no",
        "--toggle-collect=bench_window_body", "--dump-after=bench_window_body",
        "--callgrind-out-file=\(folder)/out", stripped,
      ], .memory)
    let figures = try done.enumerated().map { index, operation in
      guard let text = contents(of: "\(folder)/out.\(index + 1)"),
        let total = CallgrindTotal.parse(text)
      else { throw PeerError("valgrind has not counted \(operation.name)") }
      return Figure(
        "instructions.\(operation.name)", (total + operation.count / 2) / operation.count)
    }
    return figures + [
      figures.ratio(
        "instructions.proof.c/floor.sodium", "instructions.proof.c", "instructions.floor.sodium"),
      figures.ratio(
        "instructions.proof.swift/proof.c", "instructions.proof.swift", "instructions.proof.c"),
    ]
  }

  private func calls() throws -> [Figure] {
    guard Subprocess.find("strace") != nil else {
      return [Figure("calls", uncounted: "apt-get install strace")]
    }
    let file = try Workplace.folder("strace") + "/out"
    let done = try run(["strace", "-f", "-qq", "-o", file, program], .system)
    guard let text = contents(of: file) else { throw PeerError("strace has written nothing") }
    let counts = SystemCalls.parse(text, marks: Instrument.markFolder)
    return try done.map { operation in
      guard let count = counts[operation.name] else {
        throw PeerError("strace has not seen \(operation.name)")
      }
      return Figure("calls.\(operation.name)", Double(count) / Double(operation.count))
    }
  }

  /// Runs this program under a tool; the operations that it has done, in order.
  private func run(
    _ tool: [String], _ what: BenchOptions.Instrumented
  ) throws -> [(name: String, count: Int)] {
    let child = try Subprocess(
      tool + ["--instrumented", what.rawValue], kept: .kept, isQuiet: true)
    let lines = child.rest().split(separator: "\n")
    let status = child.end()
    guard status == 0 else {
      throw PeerError("\(tool[0]): the operations ended with status \(status)")
    }
    return lines.compactMap { line in
      let words = line.split(separator: " ")
      return words.count == 2 ? Int(words[1]).map { (String(words[0]), $0) } : nil
    }
  }
}
