// SPDX-License-Identifier: Apache-2.0

// The demonstration, the sample app and the thief's programs. The first argument selects one of
// them.

import Console

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "app": await AppShell(arguments.dropFirst()).run()
case "attack": AttackShell(arguments.dropFirst()).run()
default: Demo(DemoOptions(arguments)).run()
}
