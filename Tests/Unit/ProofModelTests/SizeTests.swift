// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A secret of another size")
struct SizeTests {
  private static func refusal(_ make: () throws -> Void) -> ProofError? {
    do {
      try make()
      return nil
    } catch { return error as? ProofError }
  }

  @Test("is refused with its name, and with the sizes that it should and does have")
  func refused() throws {
    let gate = GateID.random()
    let hardware = HardwareID.random()
    let point = try World().hardware.identity.publicKey
    let makers: [(String, Int, (Int) throws -> Void)] = [
      ("string key", 32, { _ = try StringKey(.random(count: $0)) }),
      (
        "gate's own secret", 32,
        { _ = try BeaconKey(from: .random(count: $0), number: 1, of: gate) }
      ),
      ("gate secret", 32, { _ = try GateSecret(.random(count: $0), generation: 1) }),
      ("account key", 32, { _ = try GateAccountKey(.random(count: $0), number: 1) }),
      ("gate secret key", 32, { _ = try GateIdentity.Key(.random(count: $0), number: 1) }),
      ("seed of an issuer key", 32, { _ = try IssuerKey(seed: .random(count: $0)) }),
      ("factory secret", 32, { _ = try FactorySecret(of: hardware, drawn: .random(count: $0)) }),
      ("X25519 secret key", 32, { _ = try CoreCrypto.publicKey(of: .random(count: $0)) }),
      ("X25519 secret key", 32, { _ = try CoreCrypto.sharedSecret(.random(count: $0), point) }),
      (
        "X25519 secret key", 32,
        {
          // A secret key of sevens, cut or continued to this size.
          let whole = SecretBytes(copying: [UInt8](repeating: 7, count: 32).span)
          let own = try CoreCrypto.publicKey(of: whole)
          let sealed = try CoreCrypto.seal(
            .random(count: 1), to: own, ephemeral: .random(count: 32))
          _ = try CoreCrypto.unseal(
            sealed.span, publicKey: own,
            secretKey: SecretBytes(copying: [UInt8](repeating: 7, count: $0).span))
        }
      ),
      (
        "ephemeral key", 32,
        { _ = try CoreCrypto.seal(.random(count: 1), to: point, ephemeral: .random(count: $0)) }
      ),
      (
        "integrity measurement", 32,
        {
          _ = try Measurement(
            integrity: .random(count: $0), device: .random(count: 32),
            deviceKey: .random(count: 16))
        }
      ),
      (
        "device measurement", 32,
        {
          _ = try Measurement(
            integrity: .random(count: 32), device: .random(count: $0),
            deviceKey: .random(count: 16))
        }
      ),
      (
        "device proof key", 16,
        {
          _ = try Measurement(
            integrity: .random(count: 32), device: .random(count: 32),
            deviceKey: .random(count: $0))
        }
      ),
      (
        "integrity proof key", 16,
        {
          _ = try HardwareSecrets(
            integrityKey: .random(count: $0), integrity: .random(count: 32),
            deviceKey: .random(count: 16), device: .random(count: 32), form: .literal)
        }
      ),
      (
        "integrity measurement", 32,
        {
          _ = try HardwareSecrets(
            integrityKey: .random(count: 16), integrity: .random(count: $0),
            deviceKey: .random(count: 16), device: .random(count: 32), form: .literal)
        }
      ),
      (
        "device proof key", 16,
        {
          _ = try HardwareSecrets(
            integrityKey: .random(count: 16), integrity: .random(count: 32),
            deviceKey: .random(count: $0), device: .random(count: 32), form: .literal)
        }
      ),
      (
        "device measurement", 32,
        {
          _ = try HardwareSecrets(
            integrityKey: .random(count: 16), integrity: .random(count: 32),
            deviceKey: .random(count: 16), device: .random(count: $0), form: .literal)
        }
      ),
    ]
    for (noun, size, make) in makers {
      #expect(Self.refusal { try make(size) } == nil, "\(noun)")
      for count in [1, size - 1, size + 1, 64] {
        #expect(
          Self.refusal { try make(count) }
            == .wrongLength(of: noun, expected: size...size, actual: count), "\(noun)")
      }
    }
  }

  @Test("of zeros alone is refused with its name")
  func zeros() throws {
    let hardware = HardwareID.random()
    let zeros = { SecretBytes(count: 32) { _ in } }
    #expect(
      Self.refusal { _ = try GateIdentity.Key(zeros(), number: 1) }
        == .allZeros(of: "gate secret key"))
    #expect(
      Self.refusal { _ = try FactorySecret(of: hardware, drawn: zeros()) }
        == .allZeros(of: "factory secret"))
    #expect(
      Self.refusal { _ = try GatePublicKey([UInt8](repeating: 0, count: 32), number: 1) }
        == .allZeros(of: "gate public key"))
    for count in [0, 31, 33] {
      #expect(
        Self.refusal { _ = try GatePublicKey([UInt8](repeating: 1, count: count), number: 1) }
          == .wrongLength(of: "gate public key", expected: 32...32, actual: count))
    }
  }

  @Test("box of 49 bytes opens to one byte, and a shorter one is malformed")
  func boxes() throws {
    let secret = SecretBytes.random(count: 32)
    let key = try CoreCrypto.publicKey(of: secret)
    let one = SecretBytes(count: 1) { $0[0] = 7 }
    let sealed = try CoreCrypto.seal(one, to: key, ephemeral: .random(count: 32))
    #expect(sealed.count == 49)
    let opened = try CoreCrypto.unseal(sealed.span, publicKey: key, secretKey: secret)
    let message = copy(opened)
    #expect(message == [7])
    for count in [0, 1, 47, 48] {
      let cut = Array(sealed.prefix(count))
      #expect(
        Self.refusal {
          _ = try CoreCrypto.unseal(cut.span, publicKey: key, secretKey: secret)
        } == .malformed("sealed box", byteCount: count))
    }
    for bit in 0..<49 * 8 {
      var changed = sealed
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(
        Self.refusal {
          _ = try CoreCrypto.unseal(changed.span, publicKey: key, secretKey: secret)
        } != nil)
    }
  }

  @Test("box under a shared key opens with the same key and data alone")
  func keyedBoxes() throws {
    let key = SecretBytes.random(count: 32)
    let other = SecretBytes.random(count: 32)
    let one = SecretBytes(count: 1) { $0[0] = 7 }
    let nonce = [UInt8](1...24)
    let sealed = key.withBytes { CoreAEAD.seal(one, with: [1, 2], key: $0, nonce: nonce) }
    #expect(sealed.count == 1 + CoreAEAD.addedByteCount && CoreAEAD.addedByteCount == 40)
    #expect(Array(sealed.prefix(24)) == nonce)
    func open(_ sealed: [UInt8], _ data: [UInt8], _ key: borrowing SecretBytes) -> [UInt8]? {
      let opened = key.withBytes { CoreAEAD.open(sealed[...], with: data, key: $0) }
      guard let opened else { return nil }
      return copy(opened)
    }
    #expect(open(sealed, [1, 2], key) == [7])
    #expect(open(sealed, [1, 3], key) == nil && open(sealed, [], key) == nil)
    #expect(open(sealed, [1, 2], other) == nil)
    for count in [0, 23, 24, 39, 40] {
      #expect(open(Array(sealed.prefix(count)), [1, 2], key) == nil)
    }
    let drawn = (0..<2).map { _ in key.withBytes { CoreAEAD.seal(one, with: [], key: $0) } }
    #expect(drawn[0].prefix(24) != drawn[1].prefix(24))
    #expect(drawn.allSatisfy { open($0, [], key) == [7] })
  }
}
