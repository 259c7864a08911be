// Times are reported, as ratios against peers of the same run; what is deterministic is held to
// Benchmarks/Thresholds.

import Console
import ProofBench

let options = readOptions()
do {
  try Run(options).go()
} catch let error as UsageError {
  Terminal.complain("proof-bench: \(error); --help tells more")
  Workplace.clear()
  Terminal.end(2)
} catch {
  Terminal.complain("proof-bench: \(error)")
  Workplace.clear()
  Terminal.end(2)
}

func readOptions() -> BenchOptions {
  do throws(UsageError) {
    let given = try Options(CommandLine.arguments.dropFirst(), taking: BenchOptions.known)
    if given.has("--help") {
      print(Options.help("proof-bench [options]", BenchOptions.summary, BenchOptions.known))
      Terminal.end(0)
    }
    return try BenchOptions(given)
  } catch {
    Terminal.complain("proof-bench: \(error); --help tells more")
    Terminal.end(2)
  }
}
