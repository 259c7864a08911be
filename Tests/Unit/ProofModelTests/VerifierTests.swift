// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@Suite("A verifier")
struct VerifierTests {
  @Test("takes a token, then a command, and signs what it decided", arguments: ProofKind.allCases)
  func flow(kind: ProofKind) throws {
    let world = try World()
    var link = Link(try world.verifier())
    let token = try world.token(world.grant())
    let held = try token.receipt(of: link.present(token), with: world.secrets)
    #expect(held.verdict == .held)
    #expect(held.usesLeft == 10)

    let (proved, outcome, answer) = try link.command(world, ringBell, kind)
    let verdict: Verdict = kind == .integrity ? .accepted : .acceptedDeviceOnly
    #expect(outcome.verdict == verdict)
    #expect(outcome.execution?.command == ringBell)
    #expect(outcome.execution?.kind == kind)
    #expect(outcome.instance == world.instance)
    let receipt = try proved.receipt(of: answer)
    #expect(receipt.verdict == verdict)
    #expect(receipt.usesLeft == 9)
  }

  @Test("refuses the same challenge the second time, and does nothing")
  func replay() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let (proved, first, _) = try link.command(world, openDoor)
    #expect(first.verdict == .accepted)
    let second = link.send(proved.message)
    #expect(second.verdict == .stale)
    #expect(second.execution == nil)
    _ = try link.challenge()
    #expect(link.send(proved.message).verdict == .stale)
  }

  @Test("gives every challenge another counter and other bytes")
  func challenges() throws {
    let world = try World()
    var link = Link(try world.verifier())
    let challenges = try (0..<50).map { _ in try link.challenge() }
    #expect(Set(challenges.map(\.counter)).count == 50)
    #expect(Set(challenges.map(\.bytes)).count == 50)
    #expect(challenges.map(\.counter) == challenges.map(\.counter).sorted())
  }

  @Test("does not take the challenge of another link, of a link that ended, or too late")
  func challengeLife() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    var other = Link(verifier)
    _ = try link.present(world.token(world.grant()))

    let elsewhere = world.prove(openDoor, answering: try other.challenge())
    _ = try link.challenge()
    #expect(link.send(elsewhere.message).verdict == .stale)

    let ended = world.prove(openDoor, answering: try link.challenge())
    link.session.disconnect()
    #expect(link.send(ended.message).verdict == .stale)

    let late = world.prove(openDoor, answering: try link.challenge())
    world.platform.set(seconds: 31)
    #expect(link.send(late.message).verdict == .stale)
    let inTime = world.prove(openDoor, answering: try link.challenge())
    world.platform.set(seconds: 61)
    #expect(link.send(inTime.message).verdict == .accepted)
  }

  @Test("tells a changed app from a stranger, and counts attempts for the first alone")
  func changedAppOrStranger() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant(attempts: 2)))

    let stranger = try World(seed: 2).secrets
    for _ in 0..<5 {
      let (proved, outcome, answer) = try link.command(world, openDoor, with: stranger)
      #expect(outcome.verdict == .deviceDiffers)
      #expect(outcome.execution == nil)
      // Signed for the owner, which a stranger cannot check.
      #expect(throws: ProofError.differs("receipt")) { try proved.receipt(of: answer) }
    }
    let changed = try world.secrets(changing: "settings")
    for left: UInt16 in [1, 0] {
      let (proved, _, answer) = try link.command(world, openDoor, with: changed)
      #expect(try proved.receipt(of: answer).verdict == .integrityDiffers)
      #expect(try proved.receipt(of: answer).attemptsLeft == left)
    }
    #expect(try link.command(world, openDoor).outcome.verdict == .attemptsExhausted)
  }

  @Test("lets a changed app do what a device match permits, and no more")
  func deviceOnly() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let changed = try world.secrets(changing: "settings")
    #expect(
      try link.command(world, ringBell, .device, with: changed).outcome.verdict
        == .acceptedDeviceOnly)
    #expect(
      try link.command(world, openDoor, .device, with: changed).outcome.verdict == .notPermitted)
    #expect(try link.command(world, formatAll).outcome.verdict == .notPermitted)
  }

  @Test("takes a command for its own bytes and class only")
  func otherCommand() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let proved = world.prove(ringBell, answering: try link.challenge())
    var bytes = proved.message.bytes
    bytes.replaceSubrange(90..., with: Array("open".utf8))
    #expect(link.send(try Message(.command, bytes)).verdict == .deviceDiffers)

    let classes = world.prove(ringBell, answering: try link.challenge())
    bytes = classes.message.bytes
    bytes[1] = openDoor.commandClass.rawValue
    #expect(link.send(try Message(.command, bytes)).verdict == .deviceDiffers)
  }

  @Test("counts uses down to none")
  func uses() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant(uses: .limited(3))))
    let verdicts = try (0..<5).map { _ in try link.command(world, openDoor).outcome.verdict }
    #expect(verdicts == [.accepted, .accepted, .accepted, .usesExhausted, .usesExhausted])
  }

  @Test("counts no uses without limit")
  func unlimited() throws {
    let world = try World()
    var link = Link(try world.verifier())
    let token = try world.token(world.grant(uses: .unlimited))
    #expect(try token.receipt(of: link.present(token), with: world.secrets).usesLeft == nil)
    for _ in 0..<20 {
      let (proved, _, answer) = try link.command(world, openDoor)
      #expect(try proved.receipt(of: answer).usesLeft == nil)
      #expect(try proved.receipt(of: answer).verdict == .accepted)
    }
  }

  @Test("never goes back to an older generation")
  func generations() throws {
    let world = try World()
    let verifier = try world.verifier()
    let old = try world.token(world.grant(generation: 1))
    let new = try world.token(world.grant(generation: 2))
    var link = Link(verifier)
    #expect(try link.present(old).verdict == .held)
    #expect(try link.present(new).verdict == .held)
    #expect(try link.present(new).verdict == .held)
    #expect(try link.present(old).verdict == .superseded)
    var restarted = Link(try Verifier(world.hardware, on: world.platform))
    #expect(try restarted.present(old).verdict == .superseded)
    #expect(try restarted.present(new).verdict == .held)
  }

  @Test("enforces the end of a token once an epoch has passed it")
  func expiry() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    _ = try link.present(world.token(world.grant(notAfter: World.now + 100)))
    #expect(verifier.epoch == World.now)
    #expect(try link.command(world, openDoor).outcome.verdict == .accepted)
    let epoch = try Order(.epoch(world.hardware.identity.id), issued: World.now + 101)
      .signed(by: world.issuer)
    #expect(link.send(epoch.message).verdict == .orderDone)
    #expect(verifier.epoch == World.now + 101)
    let (proved, _, answer) = try link.command(world, openDoor)
    #expect(try proved.receipt(of: answer).verdict == .expired)
  }

  @Test("revokes, and frees slots under a floor")
  func orders() throws {
    let world = try World()
    let verifier = try world.verifier()
    let id = world.hardware.identity.id
    var link = Link(verifier)
    let token = try world.token(world.grant())
    _ = try link.present(token)
    #expect(verifier.status.slotsUsed == 1)
    let revoke = try Order(.revoke(world.instance, through: 1, id), issued: World.now + 1)
    #expect(link.send(revoke.signed(by: world.issuer).message).verdict == .orderDone)
    #expect(try link.command(world, openDoor).outcome.verdict == .revoked)
    #expect(try link.present(token).verdict == .revoked)

    let floor = try Order(.floor(id), issued: World.now + 2).signed(by: world.issuer)
    #expect(link.send(floor.message).verdict == .orderDone)
    #expect(verifier.status.slotsUsed == 0)
    #expect(try link.present(token).verdict == .superseded)
  }

  @Test("refuses forged, foreign and development tokens, and is busy after four")
  func refusedTokens() throws {
    let world = try World()
    var link = Link(try world.verifier())
    let forged = try world.grant().sealed(to: world.hardware.identity, signedBy: .random())
    let foreign = try World(seed: 2)
    let elsewhere = try foreign.token(foreign.grant())
    #expect(try link.present(elsewhere).verdict == .notForMe)
    #expect(try link.present(forged).verdict == .notSigned)
    #expect(try link.present(world.token(world.grant(mode: .development))).verdict == .wrongMode)
    #expect(try link.present(world.token(world.grant(form: .literal))).verdict == .wrongMode)
    #expect(try link.present(forged).verdict == .notSigned)
    let busy = try link.present(forged)
    #expect(busy.verdict == .busy)
    #expect(busy.detail == 5)
    #expect(busy.isHint)
    link.session.disconnect()
    #expect(try link.present(world.token(world.grant())).verdict == .held)
  }

  @Test("serves eight instances and has no room for a ninth")
  func slots() throws {
    let world = try World()
    let verifier = try world.verifier()
    for slot in 0..<9 {
      var link = Link(verifier)
      let grant = try world.grant(instance: .random())
      #expect(try link.present(world.token(grant)).verdict == (slot < 8 ? .held : .noRoom))
    }
    #expect(verifier.status.slotsUsed == 8)
  }

  @Test("does not know an instance that presented no token")
  func unknown() throws {
    let world = try World()
    var link = Link(try world.verifier())
    let (proved, outcome, answer) = try link.command(world, openDoor)
    #expect(outcome.verdict == .unknownInstance)
    #expect(throws: ProofError.unauthenticated(.unknownInstance)) {
      try proved.receipt(of: answer)
    }
  }

  @Test("tells after a lost link what became of a command, and kills it if it was not done")
  func recalls() throws {
    let world = try World()
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let (done, _, _) = try link.command(world, openDoor)
    link.session.disconnect()
    let told = try Answer(link.send(done.recall.message).reply)
    #expect(try done.recall.outcome(of: told).isAccepted)

    let lost = world.prove(openDoor, answering: try link.challenge())
    let recall = lost.recall
    let notDone = try Answer(link.send(recall.message).reply)
    #expect(try recall.outcome(of: notDone) == .notExecuted)
    #expect(link.send(lost.message).verdict == .stale)
    let old = try Answer(link.send(done.recall.message).reply)
    #expect(try done.recall.outcome(of: old).isAccepted)

    _ = try link.command(world, openDoor)
    let older = try Answer(link.send(done.recall.message).reply)
    #expect(older.verdict == .stale && !older.isHint)
    #expect(try done.recall.outcome(of: older) == .unknown)
    #expect(throws: ProofError.answerToRecall(.stale)) { try done.receipt(of: older) }
    #expect(throws: ProofError.answerToRecall(.notExecuted)) { try lost.receipt(of: notDone) }
    #expect(throws: ProofError.unauthenticated(.notExecuted)) {
      try recall.outcome(
        of: Answer(.notExecuted, counter: recall.counter, to: lost.nonce, with: nil))
    }
  }

  @Test("answers what is no message with a verdict, whatever its type and length")
  func garbage() throws {
    let world = try World()
    let verifier = try world.verifier()
    var session = VerifierSession()
    var generator = SeededGenerator(seed: 4)
    for type in UInt8.min ... .max {
      for count in [0, 1, 27, 28, 40, 43, 58, 72, 124, 288, 358, 359, 5000] {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        let outcome = verifier.receive(type: type, bytes, in: &session)
        #expect(outcome.execution == nil)
        #expect(outcome.reply.type.fits(outcome.reply.bytes.count))
      }
      session.disconnect()
    }
    var link = Link(verifier)
    #expect(try link.present(world.token(world.grant())).verdict == .held)
    #expect(try link.command(world, openDoor).outcome.verdict == .accepted)
  }

  @Test("is busy after sixteen refusals on a link, and the owner's other link is not")
  func strangerIsBusy() throws {
    let world = try World()
    let verifier = try world.verifier()
    var owner = Link(verifier)
    _ = try owner.present(world.token(world.grant(attempts: 1)))
    var stranger = Link(verifier)
    let secrets = try World(seed: 2).secrets
    let verdicts = try (0..<20).map { _ in
      try stranger.command(world, openDoor, with: secrets).outcome.verdict
    }
    #expect(verdicts.prefix(16).allSatisfy { $0 == .deviceDiffers })
    #expect(verdicts.dropFirst(16).allSatisfy { $0 == .busy })
    #expect(try owner.command(world, openDoor).outcome.verdict == .accepted)
  }

  @Test("without a clock takes a challenge of any age")
  func noClock() throws {
    let world = try World(hasClock: false)
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let proved = world.prove(openDoor, answering: try link.challenge())
    world.platform.set(seconds: 1_000_000)
    #expect(link.send(proved.message).verdict == .accepted)
  }

  @Test("ends the older challenges of an instance whose command it accepts, and no one else's")
  func olderChallenges() throws {
    let world = try World()
    let verifier = try world.verifier()
    let other = try InstanceID([UInt8](repeating: 9, count: 16))
    var heldBack = Link(verifier)
    var present = Link(verifier)
    var beside = Link(verifier)
    _ = try present.present(world.token(world.grant()))
    _ = try beside.present(world.token(world.grant(instance: other)))
    let late = world.prove(openDoor, answering: try heldBack.challenge())
    let others = world.prove(openDoor, from: other, answering: try beside.challenge())
    #expect(try present.command(world, openDoor).outcome.verdict == .accepted)
    #expect(heldBack.send(late.message).verdict == .stale)
    #expect(beside.send(others.message).verdict == .accepted)
  }

  @Test("serves many links from many tasks, and accepts each challenge once")
  func concurrency() async throws {
    let world = try World()
    let verifier = try world.verifier()
    let accepted = try await withThrowingTaskGroup(of: Int.self, returning: Int.self) { group in
      // An instance each: of one instance's challenges an accepted command ends the older ones.
      for number in UInt8(1)...8 {
        let instance = try InstanceID([UInt8](repeating: number, count: 16))
        group.addTask {
          var link = Link(verifier)
          var accepted = 0
          _ = try link.present(world.token(world.grant(uses: .unlimited, instance: instance)))
          for _ in 0..<20 {
            let (proved, outcome, answer) = try link.command(world, openDoor, from: instance)
            if outcome.execution != nil { accepted += 1 }
            #expect(try proved.receipt(of: answer).verdict == .accepted)
            #expect(link.send(proved.message).verdict == .stale)
            // Another thread may go on from here.
            await Task.yield()
          }
          return accepted
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(accepted == 160)
  }
}
