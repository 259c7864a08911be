// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing
import VectorFiles

@Suite("Bytes of a fixed count")
struct FixedBytesTests {
  /// Each kind, so that one test can speak of all.
  static let kinds: [any FixedBytes.Type] = [
    Salt.self, InstanceID.self, HardwareID.self, HardwarePublicKey.self, IssuerPublicKey.self,
    IssuerID.self, KeyID.self, TokenDigest.self, Digest.self, ProofNonce.self, Proof.self,
    InstallationPoint.self, InstallationSignature.self, CredentialSecret.self, AppDigest.self,
    GateID.self, AudienceID.self, GateHandle.self, ReplayKey.self, HardwareLogNonce.self,
  ]

  /// The count and the name of each kind in errors, from the tables of docs/SPEC.md.
  static let names: [(any FixedBytes.Type, Int, String)] = [
    (Salt.self, 16, "salt"), (InstanceID.self, 16, "instance id"),
    (HardwareID.self, 16, "hardware id"), (HardwarePublicKey.self, 32, "hardware public key"),
    (IssuerPublicKey.self, 32, "issuer public key"), (IssuerID.self, 8, "issuer id"),
    (KeyID.self, 8, "key id"), (TokenDigest.self, 16, "token digest"),
    (Digest.self, 32, "digest"), (ProofNonce.self, 16, "proof nonce"), (Proof.self, 32, "proof"),
    (InstallationPoint.self, 64, "installation key"),
    (InstallationSignature.self, 64, "installation signature"),
    (CredentialSecret.self, 32, "credential secret"), (AppDigest.self, 32, "app digest"),
    (GateID.self, 16, "gate id"), (AudienceID.self, 16, "audience id"),
    (GateHandle.self, 16, "handle"), (ReplayKey.self, 24, "replay key"),
    (HardwareLogNonce.self, 16, "log nonce"),
  ]

  @Test("have the count of the page, and their name in errors")
  func counts() {
    func check<Value: FixedBytes>(_ kind: Value.Type, _ count: Int, _ name: String) {
      #expect(kind.byteCount == count, "\(name)")
      let long = [UInt8](repeating: 1, count: count + 1)
      #expect(
        throws: ProofError.wrongLength(of: name, expected: count...count, actual: count + 1)
      ) { try Value(long) }
    }
    for (kind, count, name) in Self.names { check(kind, count, name) }
    #expect(Self.names.count == Self.kinds.count)
  }

  @Test("have another hash if one byte differs", arguments: kinds)
  func hashes(kind: any FixedBytes.Type) throws {
    func check<Value: FixedBytes>(_ kind: Value.Type) throws {
      let bytes = [UInt8](repeating: 0xA5, count: kind.byteCount)
      var hashes = [try Value(bytes).hashValue]
      for place in bytes.indices {
        hashes.append(try Value(flipped(bytes, bit: 8 * place)).hashValue)
      }
      #expect(Set(hashes).count == kind.byteCount + 1)
    }
    try check(kind)
  }

  @Test("come back as they went in", arguments: kinds)
  func roundTrip(kind: any FixedBytes.Type) throws {
    func check<Value: FixedBytes>(_ kind: Value.Type) throws {
      let bytes = (0..<kind.byteCount).map { UInt8($0 + 1) }
      let value = try Value(bytes)
      #expect(value.bytes == bytes)
      #expect(value.withBytes { $0.count } == kind.byteCount)
      #expect(hex(value.description) == bytes)
      #expect(try value == Value(bytes))
      #expect(try value == Value(value.description))
      #expect(try value == Value(value.description.uppercased()))
      let digits = value.description
      for wrong in ["", String(digits.dropLast()), digits + "00", digits.dropLast(2) + "0x"] {
        #expect(
          throws: ProofError.notHexadecimal(of: "\(kind)", digitCount: 2 * kind.byteCount)
        ) { try Value(wrong) }
      }
      #expect(try Set([value, Value(bytes)]).count == 1)
    }
    try check(kind)
  }

  @Test("of any other count are refused, and the error says both counts", arguments: kinds)
  func wrongCount(kind: any FixedBytes.Type) {
    func check<Value: FixedBytes>(_ kind: Value.Type) {
      for count in [0, 1, kind.byteCount - 1, kind.byteCount + 1, 4096] {
        let bytes = [UInt8](repeating: 1, count: count)
        let error = #expect(throws: ProofError.self) { try Value(bytes) }
        guard case .wrongLength(_, let expected, let actual) = error else {
          Issue.record("another error: \(String(describing: error))")
          continue
        }
        #expect(expected == kind.byteCount...kind.byteCount)
        #expect(actual == count)
      }
    }
    check(kind)
  }

  @Test("differ if one bit differs", arguments: kinds)
  func difference(kind: any FixedBytes.Type) throws {
    func check<Value: FixedBytes>(_ kind: Value.Type) throws {
      let bytes = [UInt8](repeating: 0xA5, count: kind.byteCount)
      let value = try Value(bytes)
      for bit in 0..<8 * kind.byteCount {
        #expect(try value != Value(flipped(bytes, bit: bit)))
      }
    }
    try check(kind)
  }

  @Test("that name or salt something are never all zeros")
  func zeros() {
    let zeros = [UInt8](repeating: 0, count: 16)
    #expect(throws: ProofError.allZeros(of: "salt")) { try Salt(zeros) }
    #expect(throws: ProofError.allZeros(of: "instance id")) { try InstanceID(zeros) }
    #expect(throws: ProofError.allZeros(of: "hardware id")) { try HardwareID(zeros) }
    #expect(throws: ProofError.allZeros(of: "instance id")) {
      try InstanceID(String(repeating: "0", count: 32))
    }
    #expect(throws: Never.self) { try ProofNonce(zeros) }
    #expect(throws: Never.self) { try Digest(zeros + zeros) }
  }

  @Test("drawn at random differ, and come from the generator that is passed in")
  func random() {
    #expect(ProofNonce.random() != ProofNonce.random())
    var first = SeededGenerator(seed: 3)
    var second = SeededGenerator(seed: 3)
    #expect(Salt.random(using: &first) == Salt.random(using: &second))
  }

  @Test("drawn from a generator that is stuck at zero end the process")
  func stuckGenerator() async {
    struct Stuck: RandomNumberGenerator {
      mutating func next() -> UInt64 { 0 }
    }
    await #expect(processExitsWith: .failure) {
      var stuck = Stuck()
      _ = Salt.random(using: &stuck)
    }
  }

  @Test("hashed with SHA-256 are the digest that FIPS 180-4 gives for \"abc\"")
  func sha256() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(Digest(hashing: Array("abc".utf8)).description == expected)
  }
}
