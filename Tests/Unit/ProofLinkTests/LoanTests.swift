// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("An owner lends, and a member opens")
  struct LoanTests {
    @Test("without a network, as often as was lent, at every MTU", arguments: [23, 60, 185, 517])
    func opens(mtu: Int) async throws {
      let stage = try LoanStage(mtu: mtu)
      try await stage.introduce()
      let before = try #require(
        await stage.refusal { try await stage.member.door.send(LoanStage.open) })
      #expect(before.code == "LOCK-19.1" && before.isAuthenticated)
      let links = stage.bench.done
      let loan = try await stage.lend()
      // The owner needed no link.
      #expect(stage.bench.done == links)
      let given = try Delegation(text: loan.text)
      let receipt = try await stage.member.door.deliver(given)
      #expect(receipt?.verdict == .orderDone && receipt?.usesLeft == 3)
      for left in [2, 1, 0] as [UInt16] {
        #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
        // The same one again tells how many are left.
        #expect(try await stage.member.door.deliver(given)?.usesLeft == left)
      }
      #expect(stage.bench.done == 3)
      let after = try #require(
        await stage.refusal { try await stage.member.door.send(LoanStage.open) })
      #expect(after.code == "LOCK-19.4" && after.detail == .grantSpent)
      #expect(after.whoCanMend == .user)
      // The owner was charged, and can still open himself.
      #expect(try await stage.owner.door.send(LoanStage.open).usesLeft == 96)
    }

    @Test("a member presents its token before, and again where the hardware lost it")
    func presents() async throws {
      let stage = try LoanStage()
      try await stage.owner.door.present()
      await stage.owner.door.disconnect()
      let loan = try await stage.lend()
      #expect(try await stage.member.door.deliver(loan)?.usesLeft == 3)
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
      // Another process, which believes that this hardware holds the token.
      let memory = await stage.member.door.memory
      #expect(memory.heldToken == stage.member.pair.token.digest)
      await stage.member.door.disconnect()
      let other = try LoanStage(seed: 71)
      try await other.owner.door.present()
      await other.owner.door.disconnect()
      let again = try LoanStage.app(other.bench, 40, [0], memory: memory)
      let later = try await other.owner.door.lend(
        LoanStage.lent, to: again.pair.token.digest, uses: 1, until: LoanStage.end,
        at: LoanStage.now)
      #expect(try await again.door.deliver(later)?.usesLeft == 1)
    }

    @Test("a changed app cannot lend")
    func changed() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      for part in 1...4 {
        let memory = await stage.owner.door.memory
        // One secret of the four is another one.
        let (right, wrong) = (20 as UInt8, 90 as UInt8)
        func bytes(_ step: Int, _ count: Int) -> SecretBytes {
          let number = (step == part ? wrong : right) + UInt8(step)
          return SecretBytes(copying: [UInt8](repeating: number, count: count).span)
        }
        let drifted = try HardwareSecrets(
          integrityKey: bytes(1, 16), integrity: bytes(2, 32), deviceKey: bytes(3, 16),
          device: bytes(4, 32), form: .diversified)
        let thief = HardwareConnection(
          to: stage.owner.pair, proving: BenchProver(secrets: drifted),
          over: BenchTransport(stage.bench), memory: HeardMemory(memory), clock: StillClock())
        let loan = try await thief.lend(
          LoanStage.lent, to: stage.member.pair.token.digest, uses: 3, until: LoanStage.end)
        let error = try #require(
          await stage.refusal { try await stage.member.door.deliver(loan) })
        #expect(error.reason == .delegationRefused && error.code == "LOCK-17")
        #expect(error.whoCanMend == .user && !error.isAuthenticated)
        #expect("\(error)".contains("Ask the owner for a new delegation."))
      }
      #expect(
        await stage.refusal { try await stage.member.door.send(LoanStage.open) }?.code
          == "LOCK-19.1")
    }

    @Test("an app that cannot be measured, or stored, lends nothing")
    func unmeasured() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let memory = await stage.owner.door.memory
      var prover = BenchProver(secrets: stage.owner.secrets)
      prover.failure = .differs("app")
      let blind = HardwareConnection(
        to: stage.owner.pair, proving: prover, over: BenchTransport(stage.bench),
        memory: HeardMemory(memory), clock: StillClock())
      let name = stage.member.pair.token.digest
      let unmeasured = await stage.refusal {
        _ = try await blind.lend(LoanStage.lent, to: name, uses: 1, until: LoanStage.end)
      }
      #expect(unmeasured?.measurement == .differs("app"))
      let full = HardwareConnection(
        to: stage.owner.pair, proving: BenchProver(secrets: stage.owner.secrets),
        over: BenchTransport(stage.bench),
        memory: HeardMemory(memory) { _ throws in throw LinkUnavailable("full") },
        clock: StillClock())
      let unstored = await stage.refusal {
        _ = try await full.lend(LoanStage.lent, to: name, uses: 1, until: LoanStage.end)
      }
      #expect(unstored?.reason == .notStored)
      for (classes, uses, end) in [
        ([], 1, LoanStage.end), (LoanStage.lent, 0, LoanStage.end), (LoanStage.lent, 65_535, 1),
        (LoanStage.lent, 1, 0),
      ] as [(CommandClasses, UInt16, UnixTime)] {
        let error = await stage.refusal {
          _ = try await stage.owner.door.lend(classes, to: name, uses: uses, until: end)
        }
        #expect(error?.reason == .notMeasured && error?.code.hasPrefix("LINK-13") == true)
      }
    }

    @Test("an app whose token the hardware does not hold yet lends nothing")
    func tooEarly() async throws {
      let stage = try LoanStage()
      let error = await stage.refusal { _ = try await stage.lend() }
      #expect(error?.reason == .tokenNotHeld && error?.code == "LINK-27")
      #expect(error?.whoCanMend == .user)
      try await stage.introduce()
      _ = try await stage.lend()
    }

    @Test("each delegation has a higher number, whatever the clock says")
    func serials() async throws {
      let stored = CoreLock<[UInt32]>([])
      let stage = try LoanStage(
        remember: { memory in stored.withLock { $0.append(memory.lastSerial) } })
      try await stage.introduce()
      var serials: [UInt32] = []
      for now in [LoanStage.now, LoanStage.now, 5, LoanStage.now + 9] as [UnixTime] {
        serials.append(try await stage.lend(at: now).loan.serial)
        // It is stored before it leaves the app.
        #expect(stored.withLock { $0.last } == serials.last)
      }
      #expect(serials == [1_750_000_000, 1_750_000_001, 1_750_000_002, 1_750_000_009])
      let back = try await stage.owner.door.takeBack(
        from: stage.member.pair.token.digest, at: LoanStage.now)
      #expect(back.loan.serial == 1_750_000_010 && back.loan.takesBack)
    }

    @Test("a loan ends when its time is over, and one whose time is over is not taken")
    func ends() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let loan = try await stage.lend()
      try await stage.member.door.deliver(loan)
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
      let short = try await stage.lend(until: 1_700_000_500, at: LoanStage.now + 1)
      // Any app brings the time.
      let epoch = Order.Action.epoch(stage.bench.identity.id)
      for time in [1_730_000_000, 1_760_000_000, 1_790_000_000] as [UnixTime] {
        try await stage.member.door.deliver(
          Order(epoch, issued: time).signed(by: stage.bench.issuer))
      }
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
      let late = await stage.refusal { try await stage.member.door.deliver(short) }
      #expect(late?.reason == .delegationRefused && late?.code.hasPrefix("LOCK-34") == true)
      try await stage.member.door.deliver(
        Order(epoch, issued: LoanStage.end + 1).signed(by: stage.bench.issuer))
      let over = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
      #expect(over?.code == "LOCK-19.4")
      #expect(stage.bench.done == 2)
    }

    @Test("what was lent is taken back by the owner, or by any courier")
    func takenBack() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let name = stage.member.pair.token.digest
      for courier in [false, true] {
        let now = LoanStage.now + (courier ? 100 : 0)
        let loan = try await stage.lend(at: now)
        try await stage.member.door.deliver(loan)
        #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
        let back = try await stage.owner.door.takeBack(from: name, at: now + 1)
        if courier {
          #expect(try await stage.member.door.deliver(back) == nil)
        } else {
          #expect(try await stage.owner.door.deliver(back)?.usesLeft == 0)
        }
        for _ in 0..<2 {
          let error = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
          #expect(error?.code == "LOCK-19.4")
          // The loan of before does not come back.
          let replay = await stage.refusal { try await stage.member.door.deliver(loan) }
          #expect(replay?.code == "LOCK-19.4" && replay?.reason == .delegationRefused)
          stage.bench.losePower()
        }
      }
    }

    @Test("the owner brings it himself, too, and cannot read the member's receipt")
    func ownerBrings() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      #expect(try await stage.owner.door.deliver(stage.lend()) == nil)
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
    }

    @Test("a loan ends when the backend revokes the owner, or the member")
    func revoked() async throws {
      for (ofOwner, code) in [(true, "LOCK-19.5"), (false, "LOCK-36")] {
        let stage = try LoanStage()
        try await stage.introduce()
        let loan = try await stage.lend()
        try await stage.member.door.deliver(loan)
        let instance = (ofOwner ? stage.owner : stage.member).pair.instance
        let order = Order.Action.revoke(instance, through: nil, stage.bench.identity.id)
        try await stage.member.door.deliver(
          Order(order, issued: 1_700_000_600).signed(by: stage.bench.issuer))
        let error = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
        #expect(error?.code == code)
        let again = await stage.refusal { try await stage.member.door.deliver(loan) }
        #expect(again != nil)
        #expect(stage.bench.done == 0)
      }
    }

    @Test("an owner whose uses are over lends nothing more")
    func ownerSpent() async throws {
      let stage = try LoanStage(ownerUses: .limited(1))
      try await stage.introduce()
      try await stage.member.door.deliver(stage.lend())
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
      let error = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
      #expect(error?.code == "LOCK-19.5" && error?.detail == .ownerCannot)
    }

    @Test("classes that the owner may not pass on are refused")
    func tooWide() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      for classes in [0b1, 0b11, 0b1000, 0b1110] as [UInt16] {
        let loan = try await stage.lend(CommandClasses(rawValue: classes))
        let error = await stage.refusal { try await stage.member.door.deliver(loan) }
        #expect(error?.code == "LOCK-19.9" && error?.detail == .notDelegable)
        #expect(error?.reason == .delegationRefused && error?.whoCanMend == .operator)
      }
      let both = try await stage.lend(CommandClasses(rawValue: 0b110))
      #expect(try await stage.member.door.deliver(both) != nil)
    }

    @Test("a member lends nothing on")
    func lentOn() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      try await stage.member.door.deliver(stage.lend())
      let third = try LoanStage.app(stage.bench, 60, [0])
      try await third.door.present()
      await third.door.disconnect()
      let loan = try await stage.member.door.lend(
        LoanStage.lent, to: third.pair.token.digest, uses: 1, until: LoanStage.end)
      let error = await stage.refusal { try await third.door.deliver(loan) }
      #expect(error?.code == "LOCK-19.9")
    }

    @Test("an owner who renewed its token in between takes back, and cannot read the receipt")
    func takenBackAndRenewed() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      try await stage.member.door.deliver(stage.lend())
      let back = try await stage.owner.door.takeBack(
        from: stage.member.pair.token.digest, at: LoanStage.now + 1)
      // The hardware still holds the token of before.
      let renewed = try LoanStage.app(
        stage.bench, 20, [0, 1, 2], lends: [1, 2], generation: 2, secretsOf: 60)
      // On the real clock: an app that waits for a receipt which it cannot read ends with an error.
      let door = HardwareConnection(
        to: renewed.pair, proving: BenchProver(secrets: renewed.secrets),
        over: BenchTransport(stage.bench), memory: HeardMemory(LinkMemory()),
        options: .init(patience: .milliseconds(300)))
      #expect(try await door.deliver(back) == nil)
      let error = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
      #expect(error?.code == "LOCK-19.4")
      // The same one again, by the owner of before, who can read it.
      await door.disconnect()
      #expect(try await stage.owner.door.deliver(back)?.usesLeft == 0)
    }

    @Test("a member whose device has changed is told so, after three links")
    func changedDevice() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let loan = try await stage.lend()
      let memory = await stage.member.door.memory
      await stage.member.door.disconnect()
      let other = HardwareConnection(
        to: stage.member.pair, proving: BenchProver(secrets: try LoanStage.secrets(90)),
        over: BenchTransport(stage.bench), memory: HeardMemory(memory),
        options: .init(patience: .milliseconds(300)))
      let error = await stage.refusal { try await other.deliver(loan) }
      #expect(error?.code == "LOCK-17" && error?.isAuthenticated == false)
      #expect(error?.reason == .deviceDiffers && error?.whoCanMend == .online)
      // The hardware took it: the member it names opens.
      #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
    }

    @Test("another lock, or a changed byte, takes no delegation")
    func elsewhere() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let loan = try await stage.lend()
      // Two other locks: one whose id begins alike.
      for (id, code) in [
        ([UInt8](repeating: 6, count: 16), "LOCK-32"),
        ([5, 5, 5, 5] + [UInt8](repeating: 6, count: 12), "LOCK-17"),
      ] {
        let lender = try Delegation.Lender(
          stage.owner.pair.instance, at: HardwareID(id), generation: 1,
          token: TokenDigest([UInt8](repeating: 1, count: 16)))
        let other = Delegation(loan.loan, from: lender, with: stage.owner.secrets)
        #expect(other.hints(at: stage.bench.identity.id) == (code == "LOCK-17"))
        let error = await stage.refusal { try await stage.member.door.deliver(other) }
        #expect(error?.reason == .delegationRefused && error?.code == code)
      }
      for index in loan.bytes.indices where index % 5 == 0 {
        var bytes = loan.bytes
        bytes[index] ^= 1
        guard let changed = try? Delegation(bytes) else { continue }
        await stage.member.door.disconnect()
        let error = await stage.refusal { try await stage.member.door.deliver(changed) }
        #expect(error != nil)
      }
      #expect(try await stage.member.door.deliver(loan)?.usesLeft == 3)
    }

    @Test("hardware that takes none says so")
    func missing() async throws {
      let stage = try LoanStage(takes: false)
      try await stage.introduce()
      let error = await stage.refusal { try await stage.member.door.deliver(stage.lend()) }
      #expect(error?.reason == .delegationMissing && error?.code == "LINK-25")
      #expect(error?.whoCanMend == .operator)
    }
  }
}
