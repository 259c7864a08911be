// SPDX-License-Identifier: Apache-2.0

// A store for the tests of proof-service: `service-store VERB FOLDER [STORE]`. The folder holds the key file,
// and the store if STORE names no other one.
//
//   make           an account `demo` with an API `api.example.com`, this build's key, and no rate limits;
//                  prints its management token
//   devices        prints the devices, a line each
//   registrations  prints the registered apps, a line each

import AccountStores
import ProofJOSE
import ProofKit
import ProofModel
import ProofService

let verb = CommandLine.arguments[1]
let folder = CommandLine.arguments[2]
let place = try StorePlace(CommandLine.arguments.dropFirst(3).first ?? folder + "/store")

func account() throws -> Account {
  let key = JOSESecret(copying: Array(repeating: 7, count: 32).span)
  guard verb == "make" else {
    return try Account.open(in: place.open(), with: .keyFile(key))
  }
  let (account, token) = try Account.create(
    "demo", in: place.create(for: "demo"), lockedBy: .keyFile(key),
    url: "https://127.0.0.1:8443")
  print(token)
  return account
}

let management = Management(try account())
switch verb {
case "make":
  let key = MeasurementProofKey.sdk.withBytes { bytes in
    JOSESecret(count: bytes.byteCount) { secret in
      for index in 0..<bytes.byteCount {
        secret[index] = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      }
    }
  }
  try management.addSDKBuild(key: key, name: "test", mode: .development)
  try management.add(API("api.example.com"))
  var policy = try management.policy()
  policy.deviceRate = 0
  policy.addressRate = 0
  try management.set(policy)
case "devices":
  for device in try management.devices(latest: .max) { print(device.device) }
case "registrations":
  for registration in try management.registrations() { print(registration.digest) }
default:
  fatalError("no verb: \(verb)")
}
