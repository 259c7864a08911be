// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// The core's own tests cut at every byte of every write; these cut through the Swift callbacks.
@Suite("A power cut")
struct PowerCutTests {
  static let cuts: [BenchPlatform.Cut] = BenchPlatform.Rest.allCases.flatMap { rest in
    [0, 1, 8, 40, 100, 195, 1_000].map { BenchPlatform.Cut(write: 0, bytes: $0, rest: rest) }
  }

  @Test("while a command is noted never lets it be done twice", arguments: cuts.indices)
  func duringCommand(index: Int) throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant(uses: .limited(5))))
    let proved = world.prove(openDoor, answering: try link.challenge())
    world.platform.cutPower(Self.cuts[index])
    let cut = link.send(proved.message)
    #expect(world.platform.isDead)
    #expect(cut.execution == nil)

    world.platform.powerOn()
    var after = Link(try Verifier(world.hardware, on: world.platform))
    #expect(after.send(proved.message).verdict == .stale)
    let recall = proved.recall
    let told = try recall.outcome(of: Answer(after.send(recall.message).reply))
    // Power went before it was noted, or after; it was not done in either case.
    #expect(told.isAccepted || told == .notExecuted)
    let (next, _, answer) = try after.command(world, openDoor)
    let receipt = try next.receipt(of: answer)
    #expect(receipt.verdict == .accepted)
    #expect(receipt.usesLeft == (told.isAccepted ? 3 : 4))
  }

  @Test("while an attempt is noted leaves the old or the new count", arguments: cuts.indices)
  func duringAttempt(index: Int) throws {
    let world = try World()
    let changed = try world.secrets(changing: "settings")
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant(attempts: 3)))
    world.platform.cutPower(Self.cuts[index])
    let cut = try link.command(world, openDoor, with: changed)
    #expect(cut.outcome.execution == nil)
    world.platform.powerOn()
    var after = Link(try Verifier(world.hardware, on: world.platform))
    let (proved, _, answer) = try after.command(world, openDoor, with: changed)
    let left = try #require(try proved.receipt(of: answer).attemptsLeft)
    #expect([1, 2].contains(left))
  }

  @Test("while a token is taken leaves it held, or to be presented again", arguments: cuts.indices)
  func duringToken(index: Int) throws {
    for write in 0..<2 {
      let world = try World()
      let token = try world.token(world.grant())
      var link = Link(try world.verifier())
      var cut = Self.cuts[index]
      cut.write = write
      world.platform.cutPower(cut)
      #expect(try link.present(token).verdict == .fault)
      world.platform.powerOn()
      var after = Link(try Verifier(world.hardware, on: world.platform))
      #expect(try after.present(token).verdict == .held)
      #expect(try after.command(world, openDoor).outcome.verdict == .accepted)
    }
  }

  @Test("and start again never repeats a counter")
  func counters() throws {
    let world = try World()
    var seen: Set<UInt64> = []
    try Verifier.provision(world.hardware, on: world.platform)
    for start in 0..<20 {
      world.platform.powerOn()
      var link = Link(try Verifier(world.hardware, on: world.platform))
      for _ in 0..<5 { #expect(seen.insert(try link.challenge().counter).inserted) }
      if start % 2 == 0 { world.platform.failStorage() }
    }
  }
}

@Suite("A platform that fails")
struct PlatformFailureTests {
  @Test("gives a verdict, and nothing is done")
  func verdicts() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let proved = world.prove(openDoor, answering: try link.challenge())
    world.platform.failStorage()
    let outcome = link.send(proved.message)
    #expect(outcome.verdict == .fault)
    #expect(outcome.execution == nil)
    world.platform.failRandom()
    #expect(link.send(.askForChallenge).verdict == .fault)
  }

  @Test("with a generator that repeats itself or gives zeros is found out")
  func stuckGenerator() throws {
    let world = try World()
    var link = Link(try world.verifier())
    let bytes = [UInt8](repeating: 0x5A, count: 32)
    world.platform.script(random: bytes)
    world.platform.script(random: bytes)
    world.platform.script(random: [UInt8](repeating: 0, count: 32))
    #expect(try link.challenge().bytes == bytes)
    #expect(link.send(.askForChallenge).verdict == .fault)
    #expect(link.send(.askForChallenge).verdict == .fault)
  }

  @Test("cannot be provisioned, and does not start")
  func start() throws {
    let world = try World()
    world.platform.failStorage()
    #expect(throws: ProofError.storageFailed) {
      try Verifier.provision(world.hardware, on: world.platform)
    }
    #expect(throws: ProofError.storageFailed) {
      try Verifier(world.hardware, on: world.platform)
    }
  }

  @Test("never provisioned, or with a record damaged in both copies, does not start")
  func damaged() throws {
    let world = try World()
    #expect(throws: ProofError.storageDamaged) {
      try Verifier(world.hardware, on: world.platform)
    }
    for record in 0..<StorageArea.recordCount {
      try Verifier.provision(world.hardware, on: world.platform)
      world.platform.damage(record: record, copies: [0, 1])
      #expect(throws: ProofError.storageDamaged) {
        try Verifier(world.hardware, on: world.platform)
      }
    }
  }

  @Test("comes back from the factory with a floor under what was issued before")
  func floor() throws {
    let world = try World()
    let token = try world.token(world.grant())
    try Verifier.provision(
      world.hardware, on: world.platform, floor: World.now + 1, counter: 1_000_000)
    var link = Link(try Verifier(world.hardware, on: world.platform))
    #expect(try link.present(token).verdict == .superseded)
    #expect(try link.challenge().counter >= 1_000_000)
    #expect(try link.present(world.token(world.grant(issued: World.now + 1))).verdict == .held)
  }
}
