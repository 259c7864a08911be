// SPDX-License-Identifier: Apache-2.0

import JOSEWitness
import Testing

@testable import ProofJOSE

/// One witness serves the process, so these tests stand in line.
@Suite("Secrets in memory", .serialized)
struct SecretTests {
  private func planted(_ count: Int) -> JOSESecret {
    jose_witness_begin()
    return JOSESecret(count: count) { bytes in
      unsafe bytes.withUnsafeMutableBufferPointer { buffer in
        unsafe jose_witness_fill(buffer.baseAddress, buffer.count)
      }
    }
  }

  @Test("A secret stands at one place, and nowhere when its owner is gone")
  func secret() {
    do {
      let secret = planted(64)
      #expect(jose_witness_traces() == 1)
      let moved = secret
      let count = moved.count
      #expect(count == 64)
      #expect(jose_witness_traces() == 1)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test("The witness sees what is freed unwiped, and a copy in an array or a string")
  func witness() {
    jose_witness_begin()
    jose_witness_free_unwiped()
    #expect(jose_witness_traces() > 0)
    // The secrets themselves are gone when their copies are looked for.
    let copy = planted(16).withBytes { bytes in bytes.indices.map { bytes[$0] } }
    #expect(jose_witness_traces() > 0)
    #expect(copy.count == 16)
    let text = planted(16).withBytes { bytes in
      Claims.base64(bytes.indices.map { bytes[$0] })
    }
    #expect(jose_witness_traces() > 0)
    #expect(text.utf8.count == 24)
  }

  @Test(
    "A key leaves nothing behind, in this library or in libcrypto",
    arguments: [KeyAlgorithm.hs256, .es256, .edDSA])
  func signingKeys(algorithm: KeyAlgorithm) throws {
    try inScope {
      let key = try JSONWebKey(
        secret: planted(algorithm.freshSecretByteCount ?? 0), algorithm: algorithm, id: "k")
      let token = try JWSSigner(key).sign(Sample.claims())
      _ = try JWSVerifier(key).verify(token)
      let again = try JSONWebKey(parsing: key.privateJSON())
      #expect(again.isSameKey(as: key))
      #expect(error { try JWSVerifier(again).verify(Forge.spoiled(token)) } == .signatureWrong)
      #expect(jose_witness_traces() > 0)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test(
    "A key of RSA leaves none of its private numbers behind", arguments: [0, 1, 2, 3, 4, 5])
  func rsaKeys(number: Int) throws {
    try inScope {
      let key = try JSONWebKey.random(.rs256, bits: 2_048, id: "k")
      let place = JSONWebKey.rsaPlaces(modulusByteCount: 256)[number].place
      try key.withSecret { secret throws(JOSEError) in
        unsafe secret.extracting(place).withUnsafeBufferPointer { bytes in
          unsafe jose_witness_watch(bytes.baseAddress, bytes.count)
        }
      }
      let token = try JWSSigner(key).sign(Sample.claims())
      _ = try JWSVerifier(key).verify(token)
      let again = try JSONWebKey(parsing: key.privateJSON())
      #expect(again.isSameKey(as: key))
      let pair = try again.withSecret { secret throws(JOSEError) in
        try JSONWebKey(secret: JOSESecret(copying: secret), algorithm: .rsaOAEP256, id: "k")
      }
      let sealed = try JWEEncrypter(pair).seal(payload: ([1] as [UInt8]).span)
      _ = try JWEDecrypter(pair).open(sealed)
      #expect(error { try JWEDecrypter(pair).open(Forge.spoiled(sealed)) } == .decryptionFailed)
      #expect(jose_witness_traces() > 0)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test("A key of agreement leaves nothing behind")
  func agreementKeys() throws {
    try inScope {
      let key = try JSONWebKey(secret: planted(32), algorithm: .ecdhES, id: "k")
      let token = try JWEEncrypter(key).seal(payload: ([1] as [UInt8]).span)
      _ = try JWEDecrypter(key).open(token)
      #expect(error { try JWEDecrypter(key).open(Forge.spoiled(token)) } == .decryptionFailed)
      let again = try JSONWebKey(parsing: key.privateJSON())
      #expect(again.isSameKey(as: key))
      #expect(jose_witness_traces() > 0)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test(
    "A measurement that is signed inside leaves nothing behind, opened or refused",
    arguments: Sample.sealing + Sample.sealingToPublic)
  func nestedMeasurement(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    let signer = try JWSSigner(Sample.key(.es256))
    let verifier = try JWSVerifier(Sample.key(.es256))
    let stranger = try JWSVerifier(Sample.key(.es256, start: 9))
    try inScope {
      let proofKey = planted(16)
      let zeros = [UInt8](repeating: 0, count: 32)
      var claims = try Sample.nestedClaims()
      claims.measurement = try proofKey.withBytes { bytes throws(JOSEError) in
        try MeasurementClaims(
          integrityMeasurement: zeros.span, deviceMeasurement: zeros.span, proofKey: bytes)
      }
      let token = try JWEEncrypter(key).seal(claims, signedBy: signer)
      let decrypter = try JWEDecrypter(key)
      let policy = try Sample.nestedPolicy()
      let opened = try decrypter.claims(of: token, signedBy: verifier, under: policy)
      #expect(opened.measurement != nil)
      #expect(
        error { try decrypter.claims(of: token, signedBy: stranger, under: policy) }
          == .signatureWrong)
      #expect(jose_witness_traces() == 3)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test("A key of encryption leaves nothing behind", arguments: Sample.sealing)
  func sealingKeys(algorithm: KeyAlgorithm) throws {
    try inScope {
      let key = try JSONWebKey(secret: planted(32), algorithm: algorithm, id: "k")
      let token = try JWEEncrypter(key).seal(Sample.claims())
      _ = try JWEDecrypter(key).open(token)
      #expect(error { try JWEDecrypter(key).open(Forge.spoiled(token)) } == .decryptionFailed)
      #expect(jose_witness_traces() > 0)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test(
    "A measurement leaves nothing behind, sealed, opened, or refused", arguments: Sample.sealing)
  func measurement(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    let policy = try Sample.policy()
    let late = try ClaimsPolicy(clock: .fixed(Sample.now.advanced(by: 1_000)))
    try inScope {
      let proofKey = planted(16)
      let zeros = [UInt8](repeating: 0, count: 32)
      var claims = try Sample.claims()
      claims.measurement = try proofKey.withBytes { bytes throws(JOSEError) in
        try MeasurementClaims(
          integrityMeasurement: zeros.span, deviceMeasurement: zeros.span, proofKey: bytes)
      }
      let token = try JWEEncrypter(key).seal(claims)
      let opened = try JWEDecrypter(key).claims(of: token, under: policy)
      let isSame = try #require(opened.measurement).withProofKey { mine in
        proofKey.withBytes { theirs in ConstantTime.areEqual(mine, theirs) }
      }
      #expect(isSame)
      #expect(error { try JWEDecrypter(key).claims(of: token, under: late) } != nil)
      #expect(jose_witness_traces() == 3)
    }
    #expect(jose_witness_traces() == 0)
  }

  @Test("A secret that came as text leaves nothing behind but the text")
  func text() throws {
    try inScope {
      let text = planted(64).encoded(as: .standard)
      #expect(jose_witness_traces() == 1)
      let secret = try text.withBytes { bytes throws(JOSEError) in
        try JOSESecret(decoding: bytes, as: .standard)
      }
      #expect(jose_witness_traces() == 2)
      let count = secret.count
      #expect(count == 64)
    }
    #expect(jose_witness_traces() == 0)
  }

  /// Runs a body whose temporaries are gone when it returns.
  @inline(never)
  private func inScope(_ body: () throws -> Void) rethrows { try body() }
}

@Suite("Secrets")
struct SecretValueTests {
  @Test("Equal means the same bytes and the same count")
  func equality() {
    let one = JOSESecret(copying: ([1, 2, 3] as [UInt8]).span)
    for (bytes, isSame) in [([1, 2, 3], true), ([1, 2, 4], false), ([1, 2], false), ([], false)]
      as [([UInt8], Bool)]
    {
      let matches = one.matches(JOSESecret(copying: bytes.span))
      #expect(matches == isSame)
    }
    let empty = JOSESecret(count: 0) { _ in }
    let matches = empty.matches(JOSESecret(count: 0) { _ in })
    #expect(matches)
  }

  @Test("A secret is zeros before it is filled, and what filling throws is thrown on")
  func filling() throws {
    let secret = JOSESecret(count: 9) { _ in }
    let isZero = secret.matches(JOSESecret(copying: [UInt8](repeating: 0, count: 9).span))
    #expect(isZero)
    #expect(
      error {
        try JOSESecret(count: 9) { _ throws(JOSEError) in throw .randomFailed }
      } == .randomFailed)
  }

  @Test("Random secrets differ, and have any count up to a mebibyte")
  func random() throws {
    let one = try JOSESecret.random(count: 32)
    let isSame = one.matches(try JOSESecret.random(count: 32))
    #expect(!isSame)
    let counts = [
      try JOSESecret.random(count: 0).count, try JOSESecret.random(count: 1 << 20).count,
    ]
    #expect(counts == [0, 1 << 20])
    #expect(error { try JOSESecret.random(count: 1 << 20 + 1) } != nil)
  }

  @Test(
    "A secret goes to text and back in both alphabets", arguments: [Base64Alphabet.url, .standard])
  func text(alphabet: Base64Alphabet) throws {
    for count in 0..<70 {
      let secret = JOSESecret(count: count) { bytes in
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index &* 41) }
      }
      let text = secret.encoded(as: alphabet)
      let again = try text.withBytes { bytes throws(JOSEError) in
        try JOSESecret(decoding: bytes, as: alphabet)
      }
      let isSame = again.matches(secret)
      #expect(isSame)
    }
    for bad in ["A", "AAAAA", "A\n==", "AA=A", "AAB", "AB=="] {
      let bytes = Array(bad.utf8)
      #expect(
        error { try JOSESecret(decoding: bytes.span, as: alphabet) } == .secretNotBase64(alphabet))
    }
  }

  @Test("A negative count ends the process")
  func negativeCount() async {
    await #expect(processExitsWith: .failure) { _ = JOSESecret(count: -1) { _ in } }
  }

  @Test("The secure heap is reserved once, and serves keys that work")
  func secureHeap() async {
    await #expect(processExitsWith: .success) {
      for wrong in [-1, 0, 1, 4_095, 5_000, 1 << 27] {
        #expect(error { try SecureHeap.reserve(byteCount: wrong) } == .heapNotReserved)
      }
      try SecureHeap.reserve(byteCount: 1 << 16)
      #expect(error { try SecureHeap.reserve(byteCount: 1 << 16) } == .heapNotReserved)
      for algorithm in Sample.signing {
        _ = try JWSVerifier(Sample.key(algorithm)).verify(Sample.signedToken(algorithm))
      }
      // More than the heap has: the rest comes from the ordinary one.
      let large = try JOSESecret.random(count: 1 << 18)
      let opened = try JWEDecrypter(Sample.key(.direct)).open(Sample.sealedToken(.direct))
      let isHere = large.count == 1 << 18 && opened.payload.count > 0
      #expect(isHere)
    }
  }

  @Test("libcrypto's queue of errors stays as others left it")
  func errorQueue() throws {
    jose_witness_clear_library_errors()
    func everything() throws {
      for algorithm in Sample.signing {
        let token = try Sample.signedToken(algorithm)
        let verifier = try JWSVerifier(Sample.key(algorithm))
        _ = try verifier.verify(token)
        #expect(error { try verifier.verify(Forge.spoiled(token)) } == .signatureWrong)
      }
      for algorithm in Sample.sealing {
        let token = try Sample.sealedToken(algorithm)
        _ = try JWEDecrypter(Sample.key(algorithm)).open(token)
        #expect(error { try JWEDecrypter(Sample.key(algorithm, start: 5)).open(token) } != nil)
      }
      for algorithm in [KeyAlgorithm.es256, .edDSA] {
        let bytes = [UInt8](repeating: 0, count: algorithm == .es256 ? 64 : 32)
        #expect(error { try JSONWebKey(publicBytes: bytes, algorithm: algorithm) } != nil)
      }
    }
    try everything()
    #expect(jose_witness_library_errors() == 0)
    jose_witness_raise_library_error()
    try everything()
    #expect(jose_witness_library_errors() == 1)
  }
}
