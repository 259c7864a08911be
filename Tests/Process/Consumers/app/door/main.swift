// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitHTTP
import ProofModel

let place = try Place(CommandLine.arguments)
let lock = place.lock
let probe = try Probe(place.configuration)
let attestor = try Attestor(
  place.configuration, using: Parts(probe: probe, transport: place.transport))

if let backend = place.backend {
  try await attestor.enrol(lock, at: backend, for: "door.example.com")
}

let pair = try attestor.pairs.hardware(lock)
_ = try send(pair.token.message)
let challenge = try Challenge(send(.askForChallenge))
let proved = try Prover(config: pair.config, collector: probe).prove(
  Command("open", class: 1), .integrity, from: pair.instance, to: lock,
  answering: challenge, form: pair.form)
let verdict = try proved.receipt(of: Answer(send(proved.message))).verdict
print("verdict", verdict)
