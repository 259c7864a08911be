// SPDX-License-Identifier: Apache-2.0

import Console
import Glibc
import HTTPServing

// A shop's API over HTTPS: an example of an API that judges each request and each event by itself. `proof-shop
// prepare FOLDER` makes its own secret and its replay stores, once.

CoreDumps.forbid()
let arguments = CommandLine.arguments.dropFirst()
do {
  if arguments.first == "prepare" {
    try ShopFolder(ShopOptions.folder(toPrepare: arguments.dropFirst())).prepare()
    Terminal.end(0)
  }
  let options = ShopOptions(arguments)
  let shop = try Shop(options)
  let server = try HTTPServer(options.server, handler: shop)
  shop.open(at: "\(options.server.address):\(server.port)")
  print("listening on port \(server.port)")
  fflush(nil)
  // Run until standard input ends, or a signal comes.
  while readLine() != nil {}
  server.stop()
} catch {
  Terminal.complain("proof-shop: \(error)")
  Terminal.end(1)
}
