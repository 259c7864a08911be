// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@Suite("A proof")
struct ProofTests {
  @Test("is HMAC-SHA-256 of nonce and measurement under the key", arguments: ProofKind.allCases)
  func formula(kind: ProofKind) throws {
    let world = try World()
    let nonce = ProofNonce.random()
    let part: Measurement.Part = kind == .integrity ? .integrity : .device
    let key =
      kind == .integrity
      ? world.key.withBytes { SecretBytes(copying: $0) }
      : secret(copy(world.measurement, .deviceKey))
    let expected = CoreCrypto.hmac(
      key: key, (nonce.bytes + copy(world.measurement, part)).span)
    let proof = world.measurement.proof(of: kind, for: nonce, with: world.key)
    #expect(proof.bytes == expected.bytes)
    #expect(state(kind, world).proof(for: nonce, of: world.measurement) == proof)
  }

  @Test("is accepted by the state that would make it", arguments: ProofKind.allCases)
  func accepted(kind: ProofKind) throws {
    let world = try World()
    let nonce = ProofNonce.random()
    let state = state(kind, world)
    let proof = state.proof(for: nonce, of: world.measurement)
    #expect(throws: Never.self) { try state.check(proof, for: nonce, of: world.measurement) }
    #expect(state.kind == kind)
  }

  @Test("with any bit of proof or nonce changed differs", arguments: ProofKind.allCases)
  func changed(kind: ProofKind) throws {
    let world = try World()
    let nonce = ProofNonce.random()
    let state = state(kind, world)
    let proof = state.proof(for: nonce, of: world.measurement)
    for bit in 0..<256 {
      let other = try Proof(flipped(proof.bytes, bit: bit))
      #expect(throws: ProofError.differs("proof")) {
        try state.check(other, for: nonce, of: world.measurement)
      }
    }
    for bit in 0..<128 {
      let other = try ProofNonce(flipped(nonce.bytes, bit: bit))
      #expect(throws: ProofError.differs("proof")) {
        try state.check(proof, for: other, of: world.measurement)
      }
    }
  }

  @Test("of one kind is not a proof of the other, nor of another measurement")
  func kinds() throws {
    let world = try World()
    let other = try World(seed: 2)
    let nonce = ProofNonce.random()
    let integrity = world.measurement.proof(of: .integrity, for: nonce, with: world.key)
    #expect(throws: ProofError.differs("proof")) {
      try state(.device, world).check(integrity, for: nonce, of: world.measurement)
    }
    #expect(throws: ProofError.differs("proof")) {
      try state(.integrity, world).check(integrity, for: nonce, of: other.measurement)
    }
  }

  @Test("for one piece of hardware is none for another, and none in the literal form")
  func diversified() throws {
    let world = try World()
    let nonce = ProofNonce.random()
    let here = world.secrets
    let there = world.measurement.secrets(for: .random(), with: world.key)
    let literal = world.measurement.secrets(
      for: world.hardware.identity.id, with: world.key, form: .literal)
    for kind in ProofKind.allCases {
      let proof = ProofKeyState(kind, here).proof(for: nonce, of: here)
      #expect(throws: Never.self) {
        try ProofKeyState(kind, here).check(proof, for: nonce, of: here)
      }
      for other in [there, literal] {
        #expect(throws: ProofError.differs("proof")) {
          try ProofKeyState(kind, other).check(proof, for: nonce, of: other)
        }
      }
      #expect(
        ProofKeyState(kind, literal).proof(for: nonce, of: literal)
          == world.measurement.proof(of: kind, for: nonce, with: world.key))
    }
  }

  @Test("of the same untouched app verifies ten thousand times in a row")
  func many() throws {
    let world = try World()
    let state = ProofKeyState(integrity: world.key)
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<10_000 {
      let nonce = ProofNonce.random(using: &generator)
      let proof = state.proof(for: nonce, of: world.measurement)
      try state.check(proof, for: nonce, of: world.measurement)
    }
  }

  @Test("is the same from 64 tasks at once")
  func concurrent() async throws {
    let world = try World()
    let states = [ProofKeyState(integrity: world.key), ProofKeyState(device: world.measurement)]
    let nonces = (0..<50).map { _ in ProofNonce.random() }
    let expected = states.map { state in
      nonces.map { state.proof(for: $0, of: world.measurement) }
    }
    let results = await withTaskGroup(of: [[Proof]].self, returning: [[[Proof]]].self) { group in
      for _ in 0..<64 {
        group.addTask {
          states.map { state in nonces.map { state.proof(for: $0, of: world.measurement) } }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count == 64)
    #expect(results.allSatisfy { $0 == expected })
  }

  private func state(_ kind: ProofKind, _ world: World) -> ProofKeyState {
    switch kind {
    case .integrity: ProofKeyState(integrity: world.key)
    case .device: ProofKeyState(device: world.measurement)
    }
  }
}

@Suite("A nonce over the link")
struct NonceTests {
  @Test("changes with hardware, challenge, counter, kind, class and command")
  func binds() throws {
    let hardware = HardwareID.random()
    let bytes = [UInt8](repeating: 5, count: 32)
    let challenge = try Challenge(counter: 9, bytes: bytes)
    let nonce = ProofNonce(for: hardware, answering: challenge, of: .integrity, openDoor)
    let others = try [
      ProofNonce(for: .random(), answering: challenge, of: .integrity, openDoor),
      ProofNonce(
        for: hardware, answering: Challenge(counter: 9, bytes: flipped(bytes, bit: 200)),
        of: .integrity, openDoor),
      ProofNonce(
        for: hardware, answering: Challenge(counter: 10, bytes: bytes), of: .integrity, openDoor),
      ProofNonce(for: hardware, answering: challenge, of: .device, openDoor),
      ProofNonce(
        for: hardware, answering: challenge, of: .integrity,
        Command(openDoor.bytes, class: 2)),
      ProofNonce(
        for: hardware, answering: challenge, of: .integrity,
        Command(openDoor.bytes + [0], class: openDoor.commandClass)),
      nonce.escort(of: Proof([UInt8](repeating: 1, count: 32))),
      nonce.escort(of: Proof([UInt8](repeating: 2, count: 32))),
    ]
    #expect(Set(others + [nonce]).count == others.count + 1)
  }
}

@Suite("A measurement proof key")
struct MeasurementProofKeyTests {
  @Test("has an id that begins with its mode and tells the modes apart")
  func id() throws {
    let field = try MeasurementProofKey(secret(7, 16), mode: .production)
    let bench = try MeasurementProofKey(secret(7, 16), mode: .development)
    #expect(field.id.bytes[0] == 1)
    #expect(bench.id.bytes[0] == 2)
    #expect(field.id.bytes.dropFirst() != bench.id.bytes.dropFirst())
    #expect(field.mode == .production)
    #expect(field.description == "measurement proof key \(field.id)")
  }

  @Test("gives the device proof key that a measurement unwraps")
  func deviceKey() throws {
    let world = try World()
    let deviceKey = world.key.deviceKey(under: world.config.salt)
    #expect(copy(deviceKey) == copy(world.measurement, .deviceKey))
  }

  @Test("has 16 bytes", arguments: [1, 15, 17, 32])
  func length(count: Int) {
    #expect(
      throws: ProofError.wrongLength(
        of: "measurement proof key", expected: 16...16, actual: count)
    ) { try MeasurementProofKey(.random(count: count), mode: .production) }
  }
}
