// SPDX-License-Identifier: Apache-2.0

import ProofKit

// The smallest app that proves: `offline STORAGE CONFIGURATION NONCE` prints a proof of the device under
// what `door` stored. It links the product ProofKit and nothing else, so it shows what that brings along.
let arguments = CommandLine.arguments
let configuration = Configuration(account: arguments[2], storage: arguments[1])
let attestor = try Attestor(configuration, using: .offline(configuration))
print(try await attestor.proof(of: .device, answering: .init(Array(arguments[3].utf8))))
