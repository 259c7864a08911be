// SPDX-License-Identifier: Apache-2.0

import Console
import Glibc
import HTTPServing

// A small API backend: one protected path, /unlock-grant, over HTTP for a proxy on this machine.

CoreDumps.forbid()
let options = UnlockOptions(CommandLine.arguments.dropFirst())
do {
  let handler = try UnlockHandler(options)
  let server = try HTTPServer(options.server, handler: handler)
  print("listening on port \(server.port)")
  fflush(nil)
  // Run until standard input ends, or a signal comes.
  while readLine() != nil {}
  server.stop()
} catch {
  Terminal.complain("proof-unlock: \(error)")
  Terminal.end(1)
}
