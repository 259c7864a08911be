// SPDX-License-Identifier: Apache-2.0

import Console

// The gate beside a reverse proxy: it answers the proxy's question about each request (forward auth), and asks no
// service.

CoreDumps.forbid()
let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "prepare": GateVerbs.prepare(arguments.dropFirst())
case "verdict-key": GateVerbs.verdictKey(arguments.dropFirst())
case "check": GateVerbs.check(arguments.dropFirst())
case "bypass": BypassVerb.emergency.draw(arguments.dropFirst())
case "event-credential": BypassVerb.event.draw(arguments.dropFirst())
default:
  let options = GateOptions(arguments)
  let signals = Signals()
  RunningGate(options).serve(until: signals)
}
