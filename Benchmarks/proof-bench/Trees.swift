// SPDX-License-Identifier: Apache-2.0

import ProofBench

/// The folders that are measured, as `Benchmarks/probe-files/inputs.py` makes them: once, and kept.
final class Trees {
  /// Name and files of each tree.
  static let all = [
    "a": "1 x 256 MiB", "b": "2,000 x 64 KiB", "c": "20,000 x 4 KiB", "d": "2,000 x 100 KiB",
  ]

  private static let inputs = "Benchmarks/probe-files"

  /// One of the four trees.
  func tree(_ name: String) throws -> String {
    let root = "\(Workplace.here)/\(Workplace.trees)/trees/\(name)"
    try make("inputs.make(\"\(root)\", *inputs.TREES[\"\(name)\"])")
    return root
  }

  /// Folders of more and more files of one size; the smaller ones are parts of the largest one.
  func curve(_ name: String, size: Int, counts: [Int]) throws -> [(count: Int, folder: String)] {
    let folder = "\(Workplace.here)/\(Workplace.trees)/bench/\(name)"
    guard let largest = counts.max() else { return [] }
    let whole = "\(folder)/\(largest)"
    let parts = counts.filter { $0 != largest }
      .map { "inputs.make_part(\"\(whole)\", \"\(folder)/\($0)\", \($0))" }
    try make((["inputs.make(\"\(whole)\", \(largest), \(size))"] + parts).joined(separator: "\n"))
    return counts.map { ($0, "\(folder)/\($0)") }
  }

  /// The whole process that measures a folder: what other programs are compared with.
  func measureProgram() throws -> String {
    try Subprocess.run(["make", "--silent", "-C", Self.inputs, "all"])
    return "\(Workplace.here)/\(Workplace.trees)/probe-measure"
  }

  private func make(_ lines: String) throws {
    guard Workplace.isThere(Self.inputs) else {
      throw PeerError("\(Self.inputs) is not here; run proof-bench in the repository's root")
    }
    try Subprocess.run([
      "python3", "-B", "-c",
      "import sys\nsys.path.insert(0, \"\(Self.inputs)\")\nimport inputs\n\(lines)",
    ])
  }
}
