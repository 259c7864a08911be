// Times are reported, as ratios against peers of the same run; what is deterministic is held to
// Benchmarks/Thresholds.

import Console

let options = BenchOptions(CommandLine.arguments)
let sample = try Sample()

let figures = try Figures(sample)
let timings = try measured()

print(options.json ? report(figures, timings).description : text(figures, timings))
if options.checks { check(figures, timings, options) }

/// Runs the groups that are wanted. The peers live no longer than this.
func measured() throws -> [Timing] {
  let peers = try Peers()
  for peer in peers.missing { Terminal.complain("proof-bench: missing peer: \(peer)") }
  let groups = try options.wanted([
    { try proofGroup(sample) },
    { try tokenGroup(sample) },
    { try verifyGroup(sample) },
    { try peerGroup(sample, peers) },
  ])
  return groups.map { $0.run(rounds: options.rounds) }
}
