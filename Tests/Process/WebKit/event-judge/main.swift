// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofBackend
import ProofJOSE
import ProofModel

// A gate and its redeemer of event tokens: `event-judge REDEEMER FINGERPRINT NAME GATE KEY OWN TOKEN` opens the gate
// token of an app, and answers each line of its standard input, TOKEN EVENT ACCOUNT DATA with blanks between, with
// `valid` or with the reason. DATA goes to the end of the line.
//
//   REDEEMER: what `proofctl gate configuration --audience NAME` wrote; GATE: the same without --audience
//   FINGERPRINT: that of their signer. KEY: the gate's key file. OWN: its own secret

let words = CommandLine.arguments
guard let digest = Hexadecimal.decode(words[2]) ?? Base64.decode(words[2], .standard) else {
  fatalError("no fingerprint")
}
func read(_ file: String) throws -> GateConfiguration {
  let text = try String(contentsOfFile: file, encoding: .utf8).filter { !$0.isWhitespace }
  return try GateConfiguration(text, signedBy: Digest(digest))
}
let configuration = try read(words[1])
// It has been up for five minutes: one that has just started refuses tokens from before its start.
let isUp = CoreLock(false)
var settings = EventVerifier.Settings()
settings.clock = UnixClock {
  let now = UnixClock.system.now
  return isUp.withLock { $0 } ? now : UnixTime(seconds: now.seconds - 300)
}
let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: words[6])))
let own = SecretBytes(copying: bytes.span)
let verifier = try EventVerifier(
  by: configuration, name: words[3],
  beacons: BeaconKey(from: own, number: 1, of: configuration.gate), replay: MemoryReplayStore(),
  settings: settings)
let key = try [UInt8](Data(contentsOf: URL(fileURLWithPath: words[5])))
let identity = try read(words[4]).identity([GateSecretKey(SecretBytes(copying: key.span))])
let requests = try RequestVerifier(
  identity, own: GateOwnKeys(of: identity.id, [GateOwnSecret(.random(count: 32), number: 1)]),
  replay: MemoryReplayStore(), events: [verifier])
isUp.withLock { $0 = true }
_ = try requests.admit(token: words[7], from: nil)
while let line = readLine() {
  let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
  let judgement = verifier.judge(
    .init(parts[0], event: UInt16(parts[1]) ?? 0, account: parts[2], data: Array(parts[3].utf8)))
  print(judgement.isValid ? "valid" : judgement.reason.map { "\($0)" } ?? "invalid")
  fflush(nil)
}
