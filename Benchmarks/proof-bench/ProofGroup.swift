// SPDX-License-Identifier: Apache-2.0

import CSodium
import ProofBench
import ProofCore
import ProofModel

/// One proof: with both states of the HMAC kept, by C and by Swift; from scratch; and the floor,
/// which is two compressions of SHA-256.
func proofGroup(_ sample: Sample) throws -> Group {
  let state = ProofKeyState(integrity: sample.key)
  let key = sample.key
  let measurement = sample.measurement
  let nonce = ProofNonce.random()
  let raw = RawProof()
  return Group(
    name: "proof",
    candidates: [
      .whole("proof.c", count: 100) { count in for _ in 0..<count { raw.make() } },
      .whole("proof.swift", count: 100) { count in
        for _ in 0..<count { _ = state.proof(for: nonce, of: measurement) }
      },
      .whole("check.swift", count: 100) { count in
        let proof = state.proof(for: nonce, of: measurement)
        for _ in 0..<count { try state.check(proof, for: nonce, of: measurement) }
      },
      .whole("scratch.c", count: 100) { count in for _ in 0..<count { raw.makeFromScratch() } },
      .whole("scratch.swift", count: 100) { count in
        for _ in 0..<count { _ = measurement.proof(of: .integrity, for: nonce, with: key) }
      },
      .whole("floor.sodium", count: 100) { count in for _ in 0..<count { raw.compressTwice() } },
    ],
    ratios: [
      ("proof.swift", "proof.c"), ("proof.c", "floor.sodium"), ("scratch.c", "proof.c"),
      ("scratch.swift", "scratch.c"), ("check.swift", "proof.swift"),
    ])
}

/// The same in C, without any Swift around it but the loop.
@safe
final class RawProof {
  private let memory: UnsafeMutablePointer<Memory>

  private struct Memory {
    var expanded = pfc_proof_key()
    var key = (UInt64(1), UInt64(2))
    var nonce = (UInt64(3), UInt64(4))
    var measurement = (UInt64(5), UInt64(6), UInt64(7), UInt64(8))
    var proof = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
  }

  private let key: UnsafeMutablePointer<UInt8>
  private let nonce: UnsafeMutablePointer<UInt8>
  private let measurement: UnsafeMutablePointer<UInt8>
  private let proof: UnsafeMutablePointer<UInt8>

  init() {
    let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
    unsafe memory.initialize(to: Memory())
    func field<Value>(_ path: KeyPath<Memory, Value>) -> UnsafeMutablePointer<UInt8> {
      unsafe (UnsafeMutableRawPointer(memory) + MemoryLayout<Memory>.offset(of: path)!)
        .assumingMemoryBound(to: UInt8.self)
    }
    unsafe key = unsafe field(\.key)
    unsafe nonce = unsafe field(\.nonce)
    unsafe measurement = unsafe field(\.measurement)
    unsafe proof = unsafe field(\.proof)
    unsafe self.memory = unsafe memory
    unsafe pfc_proof_key_init(&memory.pointee.expanded, key)
  }

  deinit { unsafe memory.deallocate() }

  func make() {
    unsafe pfc_proof_make(proof, &memory.pointee.expanded, nonce, measurement)
  }

  func makeFromScratch() {
    var expanded = pfc_proof_key()
    unsafe pfc_proof_key_init(&expanded, key)
    unsafe pfc_proof_make(proof, &expanded, nonce, measurement)
    unsafe pfc_proof_key_wipe(&expanded)
  }

  /// 48 bytes fill one block with their padding, so each call is one compression.
  func compressTwice() {
    _ = unsafe crypto_hash_sha256(proof, nonce, 48)
    _ = unsafe crypto_hash_sha256(proof, nonce, 48)
  }
}
