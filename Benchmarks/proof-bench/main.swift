// SPDX-License-Identifier: Apache-2.0

// Times are reported, as ratios against peers of the same run; what is deterministic is held to
// Benchmarks/Thresholds.

import Console
import ProofBench

let options = BenchOptions.usage.made(of: CommandLine.arguments.dropFirst()) {
  try BenchOptions($0)
}
do {
  try Run(options).go()
} catch let error as UsageError {
  Workplace.clear()
  BenchOptions.usage.refuse(error)
} catch {
  Terminal.complain("proof-bench: \(error)")
  Workplace.clear()
  Terminal.end(2)
}
