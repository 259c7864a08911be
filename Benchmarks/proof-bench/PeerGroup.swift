// SPDX-License-Identifier: Apache-2.0

import BenchInstruments
import CCrypto
import ProofBench
import ProofModel

/// Alternatives in the field: a challenge answered by a signature or by a TPM, and checked.
///
/// Each round is what both sides do between the challenge and the decision, without the link: ours is
/// a proof and its check, a peer's a signature over the challenge and its check.
func peerGroup(_ sample: Sample, _ peers: Peers) throws -> Group {
  let state = ProofKeyState(integrity: sample.key)
  let measurement = sample.measurement
  let nonce = ProofNonce.random()
  var candidates: [Candidate] = [
    .whole("round.proof", count: 100) { count in
      for _ in 0..<count {
        let proof = state.proof(for: nonce, of: measurement)
        try state.check(proof, for: nonce, of: measurement)
      }
    },
    .whole("round.hmac-openssl", count: 100) { count in
      for _ in 0..<count { try peers.hmacRound() }
    },
    .whole("round.hmac-openssl-kept", count: 100) { count in
      for _ in 0..<count { try peers.keptRound() }
    },
    .whole("round.ed25519-sodium", count: 2) { count in
      for _ in 0..<count { try peers.sodiumRound() }
    },
    .whole("round.ed25519-openssl", count: 2) { count in
      for _ in 0..<count {
        try unsafe peers.round(peers.ed25519, pfj_ed25519_sign, pfj_ed25519_verify)
      }
    },
    .whole("round.ecdsa-openssl", count: 2) { count in
      for _ in 0..<count { try unsafe peers.round(peers.p256, pfj_es256_sign, pfj_es256_verify) }
    },
  ]
  if let tpm = peers.tpm {
    candidates.append(
      .whole("round.tpm-quote", count: 1) { count in for _ in 0..<count { try tpm.round() } })
  }
  return Group(
    name: "peers.round", candidates: candidates,
    ratios: candidates.dropFirst().map { ($0.name, "round.proof") })
}

/// A peer did not do what it is there for.
struct PeerError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The keys of the peers, and a challenge that all of them answer.
@safe
final class Peers {
  let ed25519: OpaquePointer
  let p256: OpaquePointer
  /// An HMAC whose key is kept, as ours is.
  private let kept: OpaquePointer
  let tpm: TPMPeer?
  /// Peers that are not on this machine, and how to get them.
  let missing: [String]
  private let issuer = IssuerKey.random()
  private let challenge = [UInt8](repeating: 7, count: 48)
  private let secret = [UInt8](repeating: 9, count: 16)

  init() throws {
    let seed = [UInt8](repeating: 5, count: 32)
    var publicKey = [UInt8](repeating: 0, count: 64)
    var ed25519: OpaquePointer?
    var p256: OpaquePointer?
    guard unsafe pfj_ed25519_pair(&ed25519, &publicKey, seed) == PFJ_OK,
      unsafe pfj_p256_pair(&p256, &publicKey, seed) == PFJ_OK,
      let ed25519 = unsafe ed25519, let p256 = unsafe p256,
      let kept = unsafe bench_hmac_new(secret, secret.count)
    else { throw PeerError("libcrypto makes no keys") }
    unsafe self.kept = unsafe kept
    unsafe self.ed25519 = unsafe ed25519
    unsafe self.p256 = unsafe p256
    tpm = try TPMPeer()
    missing = tpm == nil ? ["TPM 2.0 quote: apt-get install swtpm"] : []
  }

  deinit {
    unsafe pfj_key_free(ed25519)
    unsafe pfj_key_free(p256)
    unsafe bench_hmac_free(kept)
  }

  typealias Sign = (
    UnsafeMutablePointer<UInt8>?, OpaquePointer?, UnsafePointer<UInt8>?, Int
  ) -> pfj_result
  typealias Verify = (
    UnsafePointer<UInt8>?, OpaquePointer?, UnsafePointer<UInt8>?, Int
  ) -> pfj_result

  func round(_ key: OpaquePointer, _ sign: Sign, _ verify: Verify) throws {
    var signature = [UInt8](repeating: 0, count: 64)
    guard unsafe sign(&signature, key, challenge, challenge.count) == PFJ_OK,
      unsafe verify(signature, key, challenge, challenge.count) == PFJ_OK
    else { throw PeerError("libcrypto refuses its own signature") }
  }

  func sodiumRound() throws {
    let message = challenge
    let signature = CoreCrypto.sign(message.span, with: issuer)
    try CoreCrypto.verify(signature.span, of: message.span, by: issuer.publicKey)
  }

  func keptRound() throws {
    var tag = [UInt8](repeating: 0, count: 32)
    var again = tag
    guard unsafe bench_hmac_make(kept, &tag, challenge, challenge.count) == 1,
      unsafe bench_hmac_make(kept, &again, challenge, challenge.count) == 1,
      unsafe pfj_equal(tag, again, 32) == 1
    else { throw PeerError("libcrypto makes no HMAC") }
  }

  func hmacRound() throws {
    var tag = [UInt8](repeating: 0, count: 32)
    var again = tag
    guard
      unsafe pfj_hmac_sha256(&tag, secret, secret.count, challenge, challenge.count) == PFJ_OK,
      unsafe pfj_hmac_sha256(&again, secret, secret.count, challenge, challenge.count) == PFJ_OK,
      unsafe pfj_equal(tag, again, 32) == 1
    else { throw PeerError("libcrypto makes no HMAC") }
  }
}
