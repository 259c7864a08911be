// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitHTTP
import ProofModel

let place = try Place(CommandLine.arguments)
let (lock, grant) = (place.lock, place.grant)
let probe = try Probe(.init(bundle: place.bundle, storage: place.storage))
let store = try MeasurementStore(folder: place.storage + "/measurement")

if let initialConfig = place.initialConfig {
  let attestor = Attestor(observer: probe, over: place.transport)
  try await attestor.initialize(
    initialConfig, updates: .automatic(ConfigurationStore(folder: place.storage)))

  let result = try await attestor.fetchToken(for: "door.example.com?measurement")
  let token = try StoredToken(MeasurementToken(grant(result.token)), for: lock)
  try store.save(StoredMeasurement(result, tokens: [token]))
}

guard let kept = try store.load(), let held = kept.token(for: lock) else { throw notFetched }
_ = try send(held.token.message)
let challenge = try Challenge(send(.askForChallenge))
let proved = try Prover(config: kept.config, collector: probe).prove(
  Command("open", class: 1), .integrity, from: kept.instance, to: lock,
  answering: challenge, form: held.form)
let verdict = try proved.receipt(of: Answer(send(proved.message))).verdict
print("verdict", verdict)
