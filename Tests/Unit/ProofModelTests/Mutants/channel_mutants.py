# SPDX-License-Identifier: Apache-2.0

"""The app's rules of channels, each taken out once; as in mutants.py."""

MODEL, LINK = "Sources/ProofModel", "Sources/ProofLink"
CALL, EXCHANGE = f"{LINK}/ConnectionCall.swift", f"{LINK}/LinkExchange.swift"
CHANNEL, COMMAND = "BenchTests/ChannelTests", "CommandChannelTests"

CHANNEL_MUTANTS = [
    ("a channel where the answer tells none", f"{MODEL}/Command/ProvedCommand.swift", "opened.next != 0, ", "",
     COMMAND, []),
    ("a permission that no token carries", f"{MODEL}/Core/CoreToken.swift",
     "| (grant.permitsChannel ? UInt8(PFC_POLICY_CHANNEL) : 0)", "| 0", COMMAND, []),
    ("a channel for another kind of proof", CALL, "kind == nil || kind == waiting.channel.kind", "true", CHANNEL, []),
    ("a channel beyond its time", CALL, ", waiting.timeLeft() > .zero,", ",", CHANNEL, []),
    ("a channel that each command makes younger", CALL, "exchange.isInChannel ? waiting?.timeLeft : nil",
     "nil as (@Sendable () -> Duration)?", CHANNEL, []),
    ("a channel that the app has turned off", CALL, "options.sealsCommands, options.keepsChannel,",
     "options.sealsCommands,", CHANNEL, []),
    ("a channel that serves a second command after the first is lost", CALL, "    link?.commands = nil\n", "",
     CHANNEL, []),
    ("a channel that a token leaves", EXCHANGE,
     "    hasUnreadReceipt = false\n    channel = nil\n    enter(.presenting)",
     "    hasUnreadReceipt = false\n    enter(.presenting)", CHANNEL, []),
    ("a channel that an order leaves", EXCHANGE, "      channel = nil\n      enter(.ordering)",
     "      enter(.ordering)", CHANNEL, []),
    ("a channel that a delegation leaves", f"{LINK}/LinkLoan.swift", "    channel = nil\n    tell(delegation.message",
     "    tell(delegation.message", CHANNEL, []),
    ("an app that hangs on to no channel", f"{LINK}/LinkSeal.swift",
     "    channel = outstanding.channel(from: message)\n", "", CHANNEL, []),
    ("a right to a channel for hardware that opens none", "Sources/ProofBackend/MeasurementTokenIssuer.swift",
     "if permitsChannel, !features.contains(.channels) {", "if permitsChannel, features.isEmpty {",
     "MeasurementTokenIssuerTests", []),
]
