// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A sealed command")
struct SealedCommandTests {
  private func ask(_ link: inout Link) throws -> SealedChallenge {
    try SealedChallenge(link.send(.askForSealedChallenge).reply)
  }

  private func seal(
    _ world: World, _ command: Command, _ kind: ProofKind = .integrity,
    answering challenge: SealedChallenge, of token: MeasurementToken,
    with secrets: HardwareSecrets? = nil
  ) throws -> ProvedCommand {
    try ProvedCommand(
      command, proving: kind, from: world.instance, to: world.hardware.identity.id,
      answering: challenge, of: token.digest, with: secrets ?? world.secrets)
  }

  @Test("is done and answered, for both kinds")
  func done() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let token = try world.token(world.grant())
    try verifier.prepareSealedCommands()
    _ = try link.present(token)
    for (kind, command, verdict) in [
      (ProofKind.integrity, openDoor, Verdict.accepted),
      (.device, ringBell, .acceptedDeviceOnly),
    ] {
      try verifier.prepareSealedCommands()
      let proved = try seal(world, command, kind, answering: ask(&link), of: token)
      #expect(proved.isSealed && proved.kind == kind)
      let outcome = link.send(proved.message)
      #expect(outcome.execution?.command == command && outcome.execution?.kind == kind)
      #expect(outcome.verdict == verdict && outcome.instance == world.instance)
      let receipt = try proved.receipt(from: outcome.reply)
      #expect(receipt.verdict == verdict && receipt.nonce == proved.nonce)
      #expect(receipt.counter == proved.counter)
      // Its challenge and its key are spent.
      #expect(link.send(proved.message).execution == nil)
      #expect(link.send(proved.recall.message).verdict == verdict)
    }
  }

  @Test("is answered by its own sealed answer alone, unchanged")
  func answer() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let token = try world.token(world.grant())
    try verifier.prepareSealedCommands()
    _ = try link.present(token)
    let proved = try seal(world, openDoor, answering: ask(&link), of: token)
    let reply = link.send(proved.message).reply
    for index in reply.bytes.indices {
      var changed = reply.bytes
      changed[index] ^= 1
      #expect(throws: ProofError.self) {
        try proved.receipt(from: Message(.sealedAnswer, changed))
      }
    }
    // In the clear, with a receipt that holds: who knows the device proof key alone could make it.
    let clear = Answer(.accepted, counter: proved.counter, to: proved.nonce, with: world.secrets)
    #expect(throws: ProofError.unauthenticated(.accepted)) { try proved.receipt(of: clear) }
    #expect(throws: ProofError.unauthenticated(.accepted)) {
      try proved.receipt(from: clear.message)
    }
    // A command in the clear has no sealed answer.
    let open = world.prove(openDoor, answering: try link.challenge())
    #expect(!open.isSealed)
    #expect(throws: ProofError.self) { try open.receipt(from: reply) }
    // The answer to another sealed command.
    try verifier.prepareSealedCommands()
    let other = try seal(world, openDoor, answering: ask(&link), of: token)
    #expect(throws: ProofError.self) { try other.receipt(from: reply) }
  }

  @Test("moves the ratchet by a value that no listener can compute")
  func ratchet() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    try verifier.prepareSealedCommands()
    let token = try world.token(world.grant())
    _ = try link.present(token)
    let challenge = try ask(&link)
    let ratchet = Ratchet(.report, of: token.digest)
    let twice = try (0..<2).map { _ in
      try ProvedCommand(
        openDoor, proving: .integrity, from: world.instance, to: world.hardware.identity.id,
        answering: challenge, of: token.digest, with: world.secrets, stepping: ratchet)
    }
    // In the clear, challenge and command decide the next value. Here it depends on each sealing.
    #expect(twice[0].ratchet?.after != twice[1].ratchet?.after)
    #expect(twice[0].ratchet?.value == twice[1].ratchet?.value)
  }

  @Test("is refused before a key was made, and asks for no key of low order")
  func refused() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    #expect(link.send(.askForSealedChallenge).verdict == .tooNew)
    let token = try world.token(world.grant())
    try verifier.prepareSealedCommands()
    _ = try link.present(token)
    let asked = link.send(.askForSealedChallenge).reply
    let low = try SealedChallenge(
      Message(.challenge, asked.bytes.prefix(40) + [UInt8](repeating: 0, count: 32)))
    #expect(throws: ProofError.self) { try seal(world, openDoor, answering: low, of: token) }
    let here = try SealedChallenge(asked)
    #expect(try here == SealedChallenge(asked) && here != low)
    // The same key with another challenge.
    #expect(try here != SealedChallenge(Message(.challenge, flipped(asked.bytes, bit: 200))))
    #expect(throws: ProofError.self) { try SealedChallenge(link.challenge().message) }
    #expect(throws: ProofError.self) { try Challenge(asked) }
    let long = try Command([UInt8](repeating: 1, count: 217), class: 1)
    #expect(throws: ProofError.self) {
      try seal(world, long, answering: SealedChallenge(asked), of: token)
    }
  }

  @Test("is demanded by version two alone, and the demand stays in the token")
  func demanded() throws {
    let world = try World()
    let grant = try world.grant()
    for version in [TokenVersion.one, .two] {
      let make = { () throws(ProofError) in
        try MeasurementGrant(
          for: grant.hardware, instance: grant.instance, mode: grant.mode,
          integrityClasses: grant.integrityClasses, attempts: grant.attempts, uses: grant.uses,
          generation: grant.generation, issued: grant.issued, secrets: grant.secrets,
          version: version, demandsSealing: true)
      }
      if version == .one {
        #expect(throws: ProofError.self) { try make() }
      } else {
        #expect(try world.hardware.open(world.token(make())).demandsSealing)
        #expect(try !world.hardware.open(world.token(grant)).demandsSealing)
      }
    }
  }
}
