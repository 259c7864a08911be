// SPDX-License-Identifier: Apache-2.0

import Console

// Simulates a bad link between real processes; see docs/LINK.md, section 10.

let options = RelayOptions(CommandLine.arguments.dropFirst())
do {
  let relay = try Relay(options)
  Relay.tell("seed \(options.seed)\nlistening: \(options.listen)")
  try relay.run()
} catch {
  Terminal.complain("proof-relay: \(error)")
  Terminal.end(1)
}
