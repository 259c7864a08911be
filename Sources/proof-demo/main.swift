// One service, one backend, one phone and two pieces of hardware in one process, over a link with
// packets of 20 bytes. First what is meant to happen, then what is meant to be refused.

import Console

let options = DemoOptions(CommandLine.arguments)
let story = try Story()

var lines = try story.firstContact()
lines += try story.everyday()
lines += try story.tamperedApps()
lines += try await Story.liveApp()
lines += try story.hostileLinks()
lines += try story.wrongTokens()
lines += try story.damagedInputs()
lines += try story.endings()

print(options.json ? report(lines).description : text(lines))
Terminal.end(lines.allSatisfy(\.isAsItMust) ? 0 : 1)
