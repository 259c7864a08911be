// SPDX-License-Identifier: Apache-2.0

import ProofLink
import ProofModel

// `store-victim remember FOLDER N` saves the memory of a link before command N: its nonce and counter, and a ratchet with
// the values that may follow. `store-victim remembered FOLDER` prints N, or `mixed` if two saves stand in one memory.

private let lock = [UInt8](repeating: 9, count: HardwareID.byteCount)

private func memory(_ number: UInt8) throws -> LinkMemory {
  let digest = try TokenDigest([UInt8](repeating: 5, count: TokenDigest.byteCount))
  let value = [UInt8](repeating: number, count: Ratchet.byteCount)
  var memory = LinkMemory()
  memory.heldToken = digest
  memory.openCommand = OpenCommand(
    nonce: try ProofNonce([UInt8](repeating: number, count: ProofNonce.byteCount)),
    counter: UInt64(number))
  memory.ratchet = Ratchet(
    .report, of: digest, lastAccepted: UInt64(number) - 1, value: value,
    after: .init(next: value.map { $0 &+ 1 }, fork: value.map { $0 &+ 2 }))
  return memory
}

func runLinks(_ arguments: [String]) throws -> Bool {
  let file = LinkMemoryFile(in: arguments[1], for: try HardwareID(lock))
  switch arguments[0] {
  case "remember":
    let bytes = try memory(UInt8(arguments[2]) ?? 1).bytes
    mark()
    try file.save(bytes)
    mark()
  case "remembered":
    guard let bytes = try file.load(), let found = try? LinkMemory(bytes),
      let number = found.openCommand?.counter
    else {
      print("none")
      return true
    }
    print(try found == memory(UInt8(truncatingIfNeeded: number)) ? "\(number)" : "mixed")
  default: return false
  }
  return true
}
