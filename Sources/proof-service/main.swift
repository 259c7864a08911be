// SPDX-License-Identifier: Apache-2.0

// The attestation service as a program: options, service, server, then signals until one asks to
// stop.

import Console

CoreDumps.forbid()
let options = ServiceOptions(CommandLine.arguments.dropFirst())
let signals = Signals()
let running = RunningService(options)
running.serve(until: signals)
