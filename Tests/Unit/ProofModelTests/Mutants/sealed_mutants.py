# SPDX-License-Identifier: Apache-2.0

"""The app's rules of sealed commands, each taken out once; as in mutants.py."""

MODEL, LINK = "Sources/ProofModel", "Sources/ProofLink"

SEALED_MUTANTS = [
    ("a sealed command that an answer in the clear settles", f"{MODEL}/Command/ProvedCommand.swift",
     "    guard sealed == nil else { throw .unauthenticated(answer.verdict) }\n", "", "SealedCommandTests", []),
    ("a ratchet that a listener can follow", f"{MODEL}/Command/ProvedCommand.swift",
     "CoreRatchet.following(value, CoreSealed.step(sent), secrets.core)",
     "CoreRatchet.following(value, nonce, secrets.core)", "SealedTests", []),
    ("a sealed answer that need not open", f"{MODEL}/Core/CoreSealed.swift",
     'try result.orThrow(opening: "sealed answer", byteCount: bytes.count)',
     "_ = result\n    raw.verdict = 1", "SealedCommandTests", []),
    ("a command too long for its box", f"{MODEL}/Core/CoreSealed.swift",
     "guard command.bytes.count <= CoreWire.sealedCommandMax else {", "guard true else {", "SealedCommandTests", []),
    ("a demand for sealing that no token carries", f"{MODEL}/Core/CoreToken.swift",
     "| (grant.demandsSealing ? UInt8(PFC_POLICY_SEALED) : 0)", "| 0", "SealedCommandTests", []),
    ("a sealed challenge of any hardware falls back to the clear", f"{LINK}/LinkSeal.swift",
     "private mutating func missSeal() { finish(.failure(LinkError(.sealingMissing))) }",
     "private mutating func missSeal() { read(.challenge) }", "SealedTests", []),
    ("a connection that seals, and does not", f"{LINK}/LinkExchange.swift",
     "if request.seals { askForSealedChallenge() } else { read(.challenge) }", "read(.challenge)",
     "SealedTests", []),
]
