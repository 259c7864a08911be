// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A channel")
struct CommandChannelTests {
  private func opened(
    _ world: World, _ link: inout Link, _ verifier: Verifier, permits: Bool = true
  ) throws -> (ProvedCommand, Message) {
    let token = try world.channelToken(permits: permits)
    try verifier.prepareSealedCommands()
    verifier.keepChannels()
    _ = try link.present(token)
    let proved = try ProvedCommand(
      openDoor, proving: .integrity, from: world.instance, to: world.hardware.identity.id,
      answering: SealedChallenge(link.send(.askForSealedChallenge).reply), of: token.digest,
      with: world.secrets)
    let outcome = link.send(proved.message)
    #expect(outcome.verdict == .accepted)
    return (proved, outcome.reply)
  }

  @Test("goes on command by command, and a recall tells of each")
  func goesOn() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    var (last, reply) = try opened(world, &link, verifier)
    for index in 0..<3 {
      let channel = try #require(last.channel(from: reply))
      #expect(channel.counter > last.counter && channel.kind == .integrity)
      let next = try ProvedCommand(Command(Array("open \(index)".utf8), class: 1), in: channel)
      #expect(next.message.type == .channelCommand && next.isSealed && next.ratchet == nil)
      #expect(next.nonce != last.nonce && next.counter == channel.counter)
      let outcome = link.send(next.message)
      #expect(try outcome.execution?.command == Command(Array("open \(index)".utf8), class: 1))
      #expect(outcome.instance == world.instance)
      #expect(try next.receipt(from: outcome.reply).verdict == .accepted)
      (last, reply) = (next, outcome.reply)
    }
    #expect(link.send(last.recall.message).verdict == .accepted)
    // The recall has ended it.
    let channel = try #require(last.channel(from: reply))
    let outcome = link.send(try ProvedCommand(openDoor, in: channel).message)
    #expect(outcome.execution == nil && outcome.verdict == .stale)
    #expect(try Answer(outcome.reply).refusal == .noChannel)
  }

  @Test("is none without the token's permission, and none from an answer that was changed")
  func none() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let (plain, told) = try opened(world, &link, verifier, permits: false)
    #expect(plain.channel(from: told) == nil)
    let other = try World()
    let second = try other.verifier()
    var there = Link(second)
    let (proved, reply) = try opened(other, &there, second)
    for index in reply.bytes.indices {
      var changed = reply.bytes
      changed[index] ^= 1
      #expect(proved.channel(from: try Message(.sealedAnswer, changed)) == nil)
    }
    #expect(proved.channel(from: reply) != nil && proved.channel(from: told) == nil)
  }

  @Test("takes 216 bytes of command, and no more")
  func lengths() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let (proved, reply) = try opened(world, &link, verifier)
    let channel = try #require(proved.channel(from: reply))
    #expect(throws: ProofError.self) {
      try ProvedCommand(Command([UInt8](repeating: 1, count: 217), class: 1), in: channel)
    }
    let longest = try Command([UInt8](repeating: 1, count: 216), class: 1)
    #expect(
      link.send(try ProvedCommand(longest, in: channel).message).execution?.command == longest)
  }

  @Test("is permitted by tokens of version two alone")
  func versions() throws {
    let world = try World()
    let grant = try world.grant()
    for version in [TokenVersion.one, .two] {
      let make = {
        try MeasurementGrant(
          for: grant.hardware, instance: grant.instance, mode: grant.mode,
          integrityClasses: grant.integrityClasses, attempts: grant.attempts, uses: grant.uses,
          generation: grant.generation, issued: grant.issued, secrets: grant.secrets,
          version: version, permitsChannel: true)
      }
      if version == .one {
        #expect(throws: ProofError.self) { try make() }
      } else {
        #expect(try world.hardware.open(world.token(make())).permitsChannel)
        #expect(try !world.hardware.open(world.token(grant)).permitsChannel)
      }
    }
  }
}
