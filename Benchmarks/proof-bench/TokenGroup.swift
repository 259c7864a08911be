// SPDX-License-Identifier: Apache-2.0

import CSodium
import ProofBench
import ProofModel

/// A token: made and opened, beside what libsodium takes for the same public-key work alone.
func tokenGroup(_ sample: Sample) throws -> Group {
  let grant = try sample.grant()
  let token = try sample.token()
  let hardware = sample.hardware
  let issuer = sample.issuer
  let peer = SodiumPeer()
  return Group(
    name: "token",
    candidates: [
      .whole("create.swift", count: 2) { count in
        for _ in 0..<count { _ = try grant.sealed(to: hardware.identity, signedBy: issuer) }
      },
      .whole("open.swift", count: 2) { count in
        for _ in 0..<count { _ = try hardware.open(token) }
      },
      .whole("create.sodium", count: 2) { count in for _ in 0..<count { peer.signAndSeal() } },
      .whole("open.sodium", count: 2) { count in for _ in 0..<count { peer.unsealAndVerify() } },
    ],
    ratios: [("create.swift", "create.sodium"), ("open.swift", "open.sodium")])
}

/// libsodium's own sealed box and signature, on as many bytes as a token has.
final class SodiumPeer {
  private static let body = 168

  private var publicKey = [UInt8](repeating: 0, count: Int(crypto_box_PUBLICKEYBYTES))
  private var secretKey = [UInt8](repeating: 0, count: Int(crypto_box_SECRETKEYBYTES))
  private var verifyKey = [UInt8](repeating: 0, count: Int(crypto_sign_PUBLICKEYBYTES))
  private var signingKey = [UInt8](repeating: 0, count: 64)
  private let message = [UInt8](repeating: 7, count: 224)
  private var plain = [UInt8](repeating: 7, count: SodiumPeer.body + 64)
  private var sealed = [UInt8](repeating: 0, count: SodiumPeer.body + 64 + 48)
  private var signature = [UInt8](repeating: 0, count: 64)

  init() {
    precondition(sodium_init() >= 0, "libsodium could not be initialised")
    _ = unsafe crypto_box_keypair(&publicKey, &secretKey)
    _ = unsafe crypto_sign_keypair(&verifyKey, &signingKey)
    signAndSeal()
  }

  func signAndSeal() {
    _ = unsafe crypto_sign_detached(
      &signature, nil, message, UInt64(message.count), signingKey)
    _ = unsafe crypto_box_seal(&sealed, plain, UInt64(plain.count), publicKey)
  }

  func unsealAndVerify() {
    let opened = unsafe crypto_box_seal_open(
      &plain, sealed, UInt64(sealed.count), publicKey, secretKey)
    let verified = unsafe crypto_sign_verify_detached(
      signature, message, UInt64(message.count), verifyKey)
    precondition(opened == 0 && verified == 0, "libsodium refuses what it made")
  }
}
