// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Many tasks at once")
struct ConcurrencyTests {
  @Test("Keys, signers and verifiers serve 64 tasks at once", arguments: Sample.signing)
  func signing(algorithm: KeyAlgorithm) async throws {
    let key = try Sample.key(algorithm)
    let signer = try JWSSigner(key)
    let verifier = try JWSVerifier(key)
    let policy = try Sample.policy()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<64 {
        group.addTask {
          for round in 0..<4 {
            var claims = try Sample.claims()
            claims.subject = "\(task)/\(round)"
            let token = try signer.sign(claims)
            #expect(try verifier.claims(of: token, under: policy).subject == claims.subject)
            #expect(error { try verifier.verify(Forge.spoiled(token)) } == .signatureWrong)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("64 tasks that seal are all counted, and stay within the limit")
  func sealing() async throws {
    let limit = UInt64(1) << 32
    let key = try Sample.key(.a256kw)
    let encrypter = try JWEEncrypter(key, sealedBefore: limit - 100)
    let decrypter = try JWEDecrypter(key)
    let sealed = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<64 {
        group.addTask {
          var sealed = 0
          for _ in 0..<4 {
            do {
              let token = try encrypter.seal(Sample.claims())
              _ = try decrypter.open(token)
              sealed += 1
            } catch JOSEError.keyExhausted {
              continue
            }
          }
          return sealed
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(sealed == 100)
    #expect(encrypter.sealedCount == limit)
  }

  @Test("One measurement is read, and let go of, by many tasks")
  func measurement() async throws {
    var claims = try Sample.claims()
    claims.measurement = try Sample.measurement()
    let shared = claims
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<64 {
        group.addTask { shared.measurement?.withProofKey { $0.count } ?? 0 }
      }
      for await count in group { #expect(count == 16) }
    }
  }
}
