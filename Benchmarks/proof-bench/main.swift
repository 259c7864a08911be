// Times are reported, as ratios against peers of the same run; what is deterministic is held to
// Benchmarks/Thresholds.

import Console

let options = BenchOptions(CommandLine.arguments)
let sample = try Sample()

let figures = try Figures(sample)
let groups = try options.wanted([
  { try proofGroup(sample) },
  { try tokenGroup(sample) },
  { try verifyGroup(sample) },
])
let timings = groups.map { $0.run(rounds: options.rounds) }

print(options.json ? report(figures, timings).description : text(figures, timings))
if options.checks { check(figures, timings, options) }
