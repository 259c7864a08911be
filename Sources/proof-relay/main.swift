import Console

// A bad link between real processes: docs/LINK.md, section 10.

do {
  if let options = try RelayOptions(Array(CommandLine.arguments.dropFirst())) {
    let relay = try Relay(options)
    Relay.tell("seed \(options.seed)\nlistening: \(options.listen)")
    try relay.run()
  }
} catch let error as UsageError {
  Terminal.complain("proof-relay: \(error)")
  Terminal.end(2)
} catch {
  Terminal.complain("proof-relay: \(error)")
  Terminal.end(1)
}
