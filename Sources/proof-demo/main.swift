// The demonstration's director, the sample app and the thief's programs: which of them a process is,
// its first argument says.

import Console

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "app": await AppShell(arguments.dropFirst()).run()
case "attack": AttackShell(arguments.dropFirst()).run()
default: Demo(DemoOptions(arguments)).run()
}
