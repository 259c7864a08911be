import ProofKit
import ProofKitHTTP
import ProofModel

let place = try Place(CommandLine.arguments), lock = place.lock
let store = try MeasurementStore(folder: place.storage + "/measurement")
let probe = try Probe(.init(bundle: place.bundle, storage: place.storage))

if let initialConfig = place.initialConfig {
  let attestor = Attestor(observer: probe, over: place.transport)
  try await attestor.initialize(
    initialConfig, updates: .automatic(ConfigurationStore(folder: place.storage)))
  let result = try await attestor.fetchToken(for: "door.example.com?measurement")
  guard let config = result.measurementConfig, let instance = attestor.instance else {
    throw Refusal(result.reason)
  }
  let token = try StoredToken(MeasurementToken(place.grant(result.token)), for: lock)
  try store.save(StoredMeasurement(config, of: instance, tokens: [token]))
}

guard let kept = try store.load(), let token = kept.token(for: lock) else {
  throw Refusal("nothing is stored")
}
let prover = Prover(config: kept.config, collector: probe)
_ = try send(token.token.message)
let challenge = try Challenge(send(.askForChallenge))
let open = try Command(Array("open".utf8), class: CommandClass(1))
let proved = try prover.prove(
  open, .integrity, from: kept.instance, to: lock, answering: challenge)
print("verdict", try proved.receipt(of: Answer(send(proved.message))).verdict)
