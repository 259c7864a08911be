// SPDX-License-Identifier: Apache-2.0

// Many simulated devices ask for challenges and send reports, as fast as the service answers; or the
// reports of an earlier run are sent again, to be refused.

import Console

let options = LoadOptions(CommandLine.arguments.dropFirst())
let tally = options.replayed.map { replay($0, options) } ?? attest(options)
print(options.json ? tally.report(options).description : tally.text(options))
Terminal.end(tally.isAsItMust(options) ? 0 : 1)
