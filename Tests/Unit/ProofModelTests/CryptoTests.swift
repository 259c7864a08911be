// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

/// Vectors from the RFCs; the core's own tests run thousands more.
@Suite("The core's cryptography through Swift")
struct CryptoTests {
  @Test("gives HMAC-SHA-256 as RFC 4231, test case 2, whole and in pieces")
  func hmac() {
    let key = secret(Array("Jefe".utf8))
    let message = Array("what do ya want for nothing?".utf8)
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    #expect(CoreCrypto.hmac(key: key, message.span).description == expected)
    var mac = CoreMAC(key: key)
    for byte in message { mac.update([byte].span) }
    let pieces = mac.finish()
    #expect(pieces.description == expected)
  }

  @Test("gives HKDF-SHA-256 as RFC 5869, test case 1")
  func hkdf() {
    let derived = CoreCrypto.hkdf(
      salt: hex("000102030405060708090a0b0c").span, key: secret(0x0B, 22),
      info: hex("f0f1f2f3f4f5f6f7f8f9").span)
    #expect(
      copy(derived) == hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"))
    let label = "pfc1.hw-key....."
    #expect(
      copy(CoreCrypto.derive(label: label, key: secret(5, 16), info: [1, 2].span))
        == copy(
          CoreCrypto.hkdf(salt: Array(label.utf8).span, key: secret(5, 16), info: [1, 2].span)))
  }

  @Test("refuses a label of another length by ending the process")
  func label() async {
    await #expect(processExitsWith: .failure) {
      _ = CoreCrypto.derive(label: "short", key: secret(5, 16), info: [1].span)
    }
  }

  @Test("gives X25519 as RFC 7748, section 6.1, and refuses a shared secret of zeros")
  func x25519() throws {
    let alice = secret(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    let bob = try HardwarePublicKey(
      hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"))
    #expect(
      try copy(CoreCrypto.sharedSecret(alice, bob))
        == hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"))
    let lowOrder = try HardwarePublicKey([1] + [UInt8](repeating: 0, count: 31))
    do throws(ProofError) {
      _ = try CoreCrypto.sharedSecret(alice, lowOrder)
      Issue.record("a point of low order was taken")
    } catch {
      #expect(error == .notSigned("X25519 public key"))
    }
  }

  @Test("opens what it sealed, and nothing that was changed")
  func seal() throws {
    let secretKey = SecretBytes.random(count: 32)
    let publicKey = try CoreCrypto.publicKey(of: secretKey)
    let message = secret(Array("measurement".utf8))
    let sealed = try CoreCrypto.seal(message, to: publicKey, ephemeral: .random(count: 32))
    #expect(sealed.count == message.count + 48)
    let opened = try copy(
      CoreCrypto.unseal(sealed.span, publicKey: publicKey, secretKey: secretKey))
    #expect(opened == Array("measurement".utf8))
    for bit in stride(from: 0, to: 8 * sealed.count, by: 5) {
      let changed = flipped(sealed, bit: bit)
      do throws(ProofError) {
        _ = try CoreCrypto.unseal(changed.span, publicKey: publicKey, secretKey: secretKey)
        // RFC 7748 ignores the top bit of the ephemeral public key; libsodium's nonce does not.
        Issue.record("a changed box was opened, bit \(bit)")
      } catch {
        #expect(error == .notForThisHardware("sealed box"))
      }
    }
    do throws(ProofError) {
      _ = try CoreCrypto.unseal(
        sealed.span.extracting(first: 48), publicKey: publicKey, secretKey: secretKey)
      Issue.record("an empty box was opened")
    } catch {
      #expect(error == .malformed("sealed box", byteCount: 48))
    }
  }

  @Test("verifies what it signed, and nothing that was changed")
  func sign() throws {
    let issuer = try IssuerKey(
      seed: secret(hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")))
    let empty: [UInt8] = []
    let signature = CoreCrypto.sign(empty.span, with: issuer)
    #expect(
      signature
        == hex(
          "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
            + "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"))
    try CoreCrypto.verify(signature.span, of: empty.span, by: issuer.publicKey)
    let hardware = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: .production, issuers: [issuer.publicKey])
    try CoreCrypto.verify(
      signature.span, of: empty.span, by: issuer.id, trustedBy: hardware)
    #expect(throws: ProofError.notSigned("message")) {
      try CoreCrypto.verify(
        signature.span, of: empty.span, by: IssuerKey.random().id, trustedBy: hardware)
    }
    #expect(throws: ProofError.notSigned("message")) {
      try CoreCrypto.verify(signature.span, of: [1].span, by: issuer.publicKey)
    }
    #expect(throws: ProofError.notSigned("message")) {
      try CoreCrypto.verify(flipped(signature, bit: 300).span, of: empty.span, by: issuer.publicKey)
    }
    #expect(throws: ProofError.notSigned("message")) {
      try CoreCrypto.verify(
        signature.span.extracting(first: 63), of: empty.span, by: issuer.publicKey)
    }
  }

  @Test("compares bytes of any count")
  func equal() {
    func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
      CoreCrypto.equal(left.span, right.span)
    }
    #expect(equal([], []))
    #expect(equal([1, 2], [1, 2]))
    #expect(!equal([1, 2], [1, 3]))
    #expect(!equal([1, 2], [1]))
  }
}

@Suite("A stored record")
struct RecordTests {
  @Test("comes back as it was saved last, and the save before it is the other copy")
  func saveAndLoad() throws {
    let platform = BenchPlatform()
    let records = try CoreRecords(on: platform, secretKey: secret(3, 32))
    var record = try records.format(2, secret(1, 24))
    for value: UInt8 in 2...9 { record = try records.save(secret(value, 24), over: record) }
    let loaded = try records.load(2, byteCount: 24)
    #expect(copy(loaded.payload) == [UInt8](repeating: 9, count: 24))
    #expect(loaded.sequence == record.sequence)
  }

  @Test("with both copies damaged is damaged; with one, the other counts")
  func damage() throws {
    let platform = BenchPlatform()
    let records = try CoreRecords(on: platform, secretKey: secret(3, 32))
    let record = try records.format(0, secret(1, 24))
    _ = try records.save(secret(2, 24), over: record)
    platform.damage(record: 0, copies: [1])
    #expect([1, 2].contains(try copy(records.load(0, byteCount: 24).payload)[0]))
    platform.damage(record: 0, copies: [0])
    do throws(ProofError) {
      _ = try records.load(0, byteCount: 24)
      Issue.record("a damaged record was loaded")
    } catch {
      #expect(error == .storageDamaged)
    }
  }

  @Test("of hardware with another key is damaged")
  func otherKey() throws {
    let platform = BenchPlatform()
    _ = try CoreRecords(on: platform, secretKey: secret(3, 32)).format(0, secret(1, 24))
    let others = try CoreRecords(on: platform, secretKey: secret(4, 32))
    do throws(ProofError) {
      _ = try others.load(0, byteCount: 24)
      Issue.record("another hardware's record was loaded")
    } catch {
      #expect(error == .storageDamaged)
    }
  }

  @Test("of a slot that says nothing known, or of another length, is damaged")
  func unknownSlot() throws {
    let platform = BenchPlatform()
    let records = try CoreRecords(on: platform, secretKey: secret(3, 32))
    for (byte, count) in [(7, CoreSlot.byteCount), (0, CoreSlot.byteCount - 1)] as [(UInt8, Int)] {
      let record = try records.format(1, secret(byte, count))
      #expect(throws: ProofError.storageDamaged) { try CoreSlot(record) }
    }
    let free = try records.format(1, secret(0, CoreSlot.byteCount))
    let slot = try CoreSlot(free)
    #expect(slot.state == .free)
    #expect(slot.instance == nil)
    #expect(slot.notAfter == nil)
  }
}
