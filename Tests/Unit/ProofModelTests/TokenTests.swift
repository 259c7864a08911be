// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

@Suite("A measurement token")
struct TokenTests {
  @Test("opens at its hardware and says what was granted", arguments: TokenForm.allCases)
  func roundTrip(form: TokenForm) throws {
    let world = try World(allowsLiteral: true)
    let grant = try world.grant(
      uses: .unlimited, generation: 7, notAfter: World.now + 100, form: form)
    let token = try world.token(grant)
    #expect(token.bytes.count == 288)
    #expect(token.mayBe(for: world.hardware.identity.id))

    let opened = try world.hardware.open(token)
    #expect(opened.hardware == grant.hardware)
    #expect(opened.instance == grant.instance)
    #expect(opened.mode == grant.mode)
    #expect(opened.integrityClasses == grant.integrityClasses)
    #expect(opened.deviceClasses == grant.deviceClasses)
    #expect(opened.attempts == 3)
    #expect(opened.uses == .unlimited)
    #expect(opened.generation == 7)
    #expect(opened.issued == World.now)
    #expect(opened.notAfter == World.now + 100)
    #expect(opened.issuer == world.issuer.id)
    #expect(opened.secrets.form == form)
    for part in HardwareSecrets.Part.allCases {
      #expect(copy(opened.secrets, part) == copy(grant.secrets, part))
    }
  }

  @Test("comes back from its bytes, and nothing else does")
  func bytes() throws {
    let world = try World()
    let token = try world.token(world.grant())
    #expect(try MeasurementToken(token.bytes) == token)
    for count in [0, 1, 287, 289] {
      let bytes = Array((token.bytes + [0]).prefix(count))
      #expect(throws: ProofError.malformed("measurement token", byteCount: count)) {
        try MeasurementToken(bytes)
      }
    }
    for index in 0..<2 {
      #expect(throws: ProofError.malformed("measurement token", byteCount: 288)) {
        try MeasurementToken(flipped(token.bytes, bit: 8 * index))
      }
    }
    for index in 2..<4 {
      #expect(throws: ProofError.tooNew("measurement token")) {
        try MeasurementToken(flipped(token.bytes, bit: 8 * index))
      }
    }
  }

  @Test("with any byte changed does not open")
  func changed() throws {
    let world = try World()
    let token = try world.token(world.grant())
    for index in 4..<288 {
      let other = try MeasurementToken(flipped(token.bytes, bit: 8 * index + index % 8))
      #expect(throws: ProofError.notForThisHardware("measurement token")) {
        try world.hardware.open(other)
      }
    }
  }

  @Test("is another each time, with another digest")
  func fresh() throws {
    let world = try World()
    let grant = try world.grant()
    let first = try world.token(grant)
    let second = try world.token(grant)
    #expect(first.bytes != second.bytes)
    #expect(first.digest != second.digest)
  }

  @Test("does not open at other hardware, which tells without any public-key work")
  func otherHardware() throws {
    let world = try World()
    let other = try World(seed: 2)
    let token = try world.token(world.grant())
    #expect(throws: Never.self) { try world.hardware.checkAddressee(of: token) }
    #expect(throws: ProofError.notForThisHardware("measurement token")) {
      try other.hardware.checkAddressee(of: token)
    }
    #expect(throws: ProofError.notForThisHardware("measurement token")) {
      try other.hardware.open(token)
    }
  }

  @Test("of an issuer the hardware does not know is not signed")
  func stranger() throws {
    let world = try World()
    let token = try world.grant().sealed(to: world.hardware.identity, signedBy: .random())
    #expect(throws: ProofError.notSigned("measurement token")) {
      try world.hardware.open(token)
    }
  }

  @Test("of any of four issuers opens")
  func fourIssuers() throws {
    let world = try World()
    let issuers = (0..<4).map { _ in IssuerKey.random() }
    let hardware = try HardwareKeys(
      id: world.hardware.identity.id, secretKey: .random(count: 32), mode: .production,
      issuers: issuers.map(\.publicKey))
    for issuer in issuers {
      let token = try world.grant().sealed(to: hardware.identity, signedBy: issuer)
      #expect(try hardware.open(token).issuer == issuer.id)
    }
  }

  @Test("of the other mode, or literal where that is not allowed, is refused")
  func mode() throws {
    let world = try World()
    #expect(throws: ProofError.wrongMode("measurement token")) {
      try world.hardware.open(world.token(world.grant(mode: .development)))
    }
    #expect(throws: ProofError.wrongMode("measurement token")) {
      try world.hardware.open(world.token(world.grant(form: .literal)))
    }
  }

  @Test("is made for the grant's own hardware only")
  func otherRecipient() throws {
    let world = try World()
    let other = try World(seed: 2)
    #expect(throws: ProofError.notForThisHardware("measurement grant")) {
      try world.grant().sealed(to: other.hardware.identity, signedBy: world.issuer)
    }
  }

  @Test("is not made for a public key that is a point of low order")
  func lowOrder() throws {
    let world = try World()
    let id = world.hardware.identity.id
    let one = [1] + [UInt8](repeating: 0, count: 31)
    let identity = HardwareIdentity(id: id, publicKey: try HardwarePublicKey(one))
    #expect(throws: ProofError.unusablePublicKey(of: id)) {
      try world.grant().sealed(to: identity, signedBy: world.issuer)
    }
  }

  @Test("is not made with a secret that is all zeros")
  func zeroSecret() throws {
    let world = try World()
    let id = world.hardware.identity.id
    let zeros = try HardwareSecrets(
      integrityKey: secret(1, 16), integrity: secret(0, 32), deviceKey: secret(1, 16),
      device: secret(1, 32), form: .diversified)
    let grant = try MeasurementGrant(
      for: id, instance: world.instance, mode: .production, integrityClasses: .all, attempts: 1,
      uses: .limited(1), generation: 1, issued: 1, secrets: zeros)
    #expect(throws: ProofError.allZeros(of: "key or measurement in the grant")) {
      try world.token(grant)
    }
  }

  @Test("takes an ephemeral key of 32 bytes")
  func ephemeral() throws {
    let world = try World()
    #expect(
      throws: ProofError.wrongLength(of: "ephemeral key", expected: 32...32, actual: 31)
    ) {
      try world.grant().sealed(
        to: world.hardware.identity, signedBy: world.issuer, ephemeral: .random(count: 31))
    }
    #expect(
      try world.grant().sealed(
        to: world.hardware.identity, signedBy: world.issuer, ephemeral: secret(9, 32))
        == world.grant().sealed(
          to: world.hardware.identity, signedBy: world.issuer, ephemeral: secret(9, 32)))
  }
}

@Suite("A measurement grant")
struct GrantTests {
  @Test("has every field within its range, and the error names the field")
  func ranges() throws {
    let world = try World()
    let wrong: [(String, () throws -> MeasurementGrant)] = [
      ("set of classes for an integrity match", { try grant(world, integrity: []) }),
      ("set of classes for a device match", { try grant(world, device: .all) }),
      ("number of attempts", { try grant(world, attempts: 0) }),
      ("number of uses", { try grant(world, uses: .limited(0)) }),
      ("number of uses", { try grant(world, uses: .limited(.max)) }),
      ("generation", { try grant(world, generation: 0) }),
      ("generation", { try grant(world, generation: .max) }),
      ("time of issue", { try grant(world, issued: 0) }),
      ("end", { try grant(world, issued: 10, notAfter: 9) }),
    ]
    for (field, make) in wrong {
      let error = #expect(throws: ProofError.self) { try make() }
      guard case .outOfRange(field, _, _) = error else {
        Issue.record("\(field): another error, \(String(describing: error))")
        continue
      }
    }
  }

  @Test("has edges that open again")
  func edges() throws {
    let world = try World()
    let least = try world.hardware.open(
      world.token(grant(world, attempts: 1, uses: .limited(1), issued: 1, notAfter: 1)))
    #expect(least.notAfter == 1)
    #expect(least.deviceClasses.isEmpty)
    let most = try world.hardware.open(
      world.token(
        grant(
          world, integrity: .all, device: .all, attempts: .max, uses: .limited(.max - 1),
          generation: .max - 1, issued: .last, notAfter: .last)))
    #expect(most.uses == .limited(.max - 1))
    #expect(most.generation == UInt32.max - 1)
    #expect(most.deviceClasses == .all)
    #expect(most.issued == .last)
  }

  private func grant(
    _ world: World, integrity: CommandClasses = World.classes, device: CommandClasses = [],
    attempts: UInt16 = 1, uses: Uses = .limited(1), generation: UInt32 = 1, issued: UnixTime = 5,
    notAfter: UnixTime? = nil
  ) throws -> MeasurementGrant {
    try MeasurementGrant(
      for: world.hardware.identity.id, instance: world.instance, mode: .production,
      integrityClasses: integrity, deviceClasses: device, attempts: attempts, uses: uses,
      generation: generation, issued: issued, notAfter: notAfter, secrets: world.secrets)
  }
}

@Suite("Hardware keys")
struct HardwareKeysTests {
  @Test("are refused with no issuer, five issuers, a zero key, a short key, or no time to answer")
  func misuse() throws {
    let id = HardwareID.random()
    let issuer = IssuerKey.random().publicKey
    #expect(throws: ProofError.self) {
      try HardwareKeys(id: id, secretKey: .random(count: 32), mode: .production, issuers: [])
    }
    #expect(throws: ProofError.self) {
      try HardwareKeys(
        id: id, secretKey: .random(count: 32), mode: .production,
        issuers: [IssuerPublicKey](repeating: issuer, count: 5))
    }
    #expect(throws: ProofError.allZeros(of: "hardware secret key")) {
      try HardwareKeys(id: id, secretKey: secret(0, 32), mode: .production, issuers: [issuer])
    }
    #expect(
      throws: ProofError.wrongLength(of: "hardware secret key", expected: 32...32, actual: 16)
    ) {
      try HardwareKeys(
        id: id, secretKey: .random(count: 16), mode: .production, issuers: [issuer])
    }
    #expect(throws: ProofError.self) {
      try HardwareKeys(
        id: id, secretKey: .random(count: 32), mode: .production, issuers: [issuer],
        challengeSeconds: 0)
    }
  }

  @Test("tell everyone the id, and the public key: Alice's of RFC 7748 for Alice's secret key")
  func identity() throws {
    let alice = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    let id = HardwareID.random()
    let hardware = try HardwareKeys(
      id: id, secretKey: secret(alice), mode: .production, issuers: [IssuerKey.random().publicKey])
    #expect(hardware.identity.id == id)
    #expect(
      hardware.identity.publicKey.description
        == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
  }
}

@Suite("An issuer's key")
struct IssuerKeyTests {
  @Test("of the seed of RFC 8032's first test has its public key")
  func rfc8032() throws {
    let seed = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    let issuer = try IssuerKey(seed: secret(seed))
    #expect(
      issuer.publicKey.description
        == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    #expect(issuer.id == issuer.publicKey.id)
    #expect(issuer.description == "IssuerKey(\(issuer.id))")
  }

  @Test("has a seed of 32 bytes")
  func seed() {
    #expect(
      throws: ProofError.wrongLength(of: "seed of an issuer key", expected: 32...32, actual: 64)
    ) { try IssuerKey(seed: .random(count: 64)) }
  }
}
