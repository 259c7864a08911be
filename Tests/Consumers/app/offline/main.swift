// SPDX-License-Identifier: Apache-2.0

import ProofKit

// The smallest app that proves: `offline STORAGE NONCE` prints a proof of the device under what
// `door` stored. It links the product ProofKit and nothing else, so it shows what that brings along.
let arguments = CommandLine.arguments
let store = try MeasurementStore(folder: arguments[1] + "/measurement")
let prover = try store.load().map {
  Prover(config: $0.config, collector: try Probe(.init(storage: arguments[1])))
}
print(try prover?.deviceMeasurementProof(nonce: Array(arguments[2].utf8)) as Any? ?? "nothing")
