// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A message")
struct MessageTests {
  @Test("has a length that its type takes, and no other", arguments: MessageType.allCases)
  func lengths(type: MessageType) throws {
    let allowed: [MessageType: any Sequence<Int>] = [
      .ask: 1...1, .challenge: [40, 72], .token: 288...288, .command: 58...358, .verdict: 43...43,
      .order: 124...124, .recall: 72...72, .status: 28...28, .channelCommand: 25...241,
      .sealedAnswer: 35...35,
      .logAsk: 24...24,
      .log: stride(from: 48, through: 336, by: 32), .grant: 96...96,
    ]
    let range = Set(try #require(allowed[type]).map { $0 })
    for count in 0...400 {
      #expect(type.fits(count) == range.contains(count))
      let bytes = [UInt8](repeating: 1, count: count)
      if range.contains(count) {
        #expect(try Message(type, bytes).bytes == bytes)
      } else {
        #expect(throws: ProofError.malformed("\(type) message", byteCount: count)) {
          try Message(type, bytes)
        }
      }
    }
    #expect(!type.fits(-1))
  }

  @Test("of another type is not decoded")
  func otherType() {
    let ask = Message.askForChallenge
    #expect(throws: ProofError.self) { try Challenge(ask) }
    #expect(throws: ProofError.self) { try Answer(ask) }
    #expect(throws: ProofError.self) { try HardwareStatus(ask) }
    #expect(throws: ProofError.self) { try ReceivedCommand(ask) }
  }

  @Test("carries a challenge, whose bytes are 32")
  func challenge() throws {
    let challenge = try Challenge(counter: .max, bytes: (0..<32).map { UInt8($0) })
    #expect(try Challenge(challenge.message) == challenge)
    #expect(throws: ProofError.wrongLength(of: "challenge", expected: 32...32, actual: 31)) {
      try Challenge(counter: 1, bytes: [UInt8](repeating: 0, count: 31))
    }
  }

  @Test("carries every verdict, and no number that is none")
  func verdicts() throws {
    for number in UInt8.min ... .max {
      let bytes = [number] + [UInt8](repeating: 7, count: 42)
      let message = try Message(.verdict, bytes)
      if let verdict = Verdict(rawValue: number) {
        let answer = try Answer(message)
        #expect(answer.verdict == verdict)
        #expect(answer.detail == 0x0707)
        #expect(answer.message == message)
        #expect(!answer.isHint)
      } else {
        #expect(throws: ProofError.malformed("verdict", byteCount: 43)) { try Answer(message) }
      }
    }
  }

  @Test("carries a command of 0 to 256 bytes with its proofs", arguments: ProofKind.allCases)
  func command(kind: ProofKind) throws {
    let world = try World()
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    for count in [0, 1, 8, 255, 256] {
      let bytes = [UInt8](repeating: 0xEE, count: count)
      let command = try Command(bytes, class: 15)
      let proved = world.prove(command, kind, answering: challenge)
      let received = try ReceivedCommand(proved.message)
      #expect(received.command == command)
      #expect(received.kind == kind)
      #expect(received.counter == 5)
      #expect(received.instance == world.instance)

      let secrets = world.secrets
      let state = ProofKeyState(.device, secrets)
      if let integrityProof = received.integrityProof {
        #expect(kind == .integrity)
        try ProofKeyState(.integrity, secrets).check(
          integrityProof, for: proved.nonce, of: secrets)
        try state.check(
          received.deviceProof, for: proved.nonce.escort(of: integrityProof), of: secrets)
      } else {
        #expect(kind == .device)
        try state.check(received.deviceProof, for: proved.nonce, of: secrets)
      }
    }
    #expect(throws: ProofError.wrongLength(of: "command", expected: 0...256, actual: 257)) {
      try Command([UInt8](repeating: 0, count: 257), class: 0)
    }
  }

  @Test("with an unknown class of command does not parse, with an unknown kind is too new")
  func badCommand() throws {
    let world = try World()
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    let bytes = world.prove(openDoor, answering: challenge).message.bytes
    for (index, value) in [(1, 16), (1, 255)] as [(Int, UInt8)] {
      var other = bytes
      other[index] = value
      #expect(throws: ProofError.malformed("command", byteCount: other.count)) {
        try ReceivedCommand(Message(.command, other))
      }
    }
    for kind in [0, 5, 255] as [UInt8] {
      var other = bytes
      other[0] = kind
      #expect(throws: ProofError.tooNew("command")) {
        try ReceivedCommand(Message(.command, other))
      }
    }
  }

  @Test("carries the status")
  func status() throws {
    let world = try World()
    let verifier = try world.verifier()
    var link = Link(verifier)
    let status = try HardwareStatus(link.send(.askForStatus).reply)
    #expect(status.hardware == world.hardware.identity.id)
    #expect(status.mode == .production)
    #expect(status.slotCount == 8)
    #expect(status.slotsUsed == 0)
    #expect(status.epoch == nil)
    #expect(try HardwareStatus(status.message) == status)
    #expect(verifier.status == status)

    var other = status.message.bytes
    other[0] = 2
    #expect(throws: ProofError.tooNew("status")) { try HardwareStatus(Message(.status, other)) }
    other[0] = 1
    other[1] = 3
    #expect(throws: ProofError.malformed("status", byteCount: 28)) {
      try HardwareStatus(Message(.status, other))
    }
  }
}

@Suite("A receipt")
struct ReceiptTests {
  let world = try! World()

  @Test("is believed for its own command, counter, verdict and detail only")
  func binds() throws {
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    let proved = world.prove(openDoor, answering: challenge)
    let answer = Answer(
      .accepted, detail: 9, counter: 5, to: proved.nonce, with: world.secrets)
    let receipt = try proved.receipt(of: answer)
    #expect(receipt.verdict == .accepted)
    #expect(receipt.usesLeft == 9)
    #expect(receipt.attemptsLeft == nil)
    #expect(receipt.nonce == proved.nonce)

    for bit in 0..<8 * 3 {
      guard let other = try? Answer(Message(.verdict, flipped(answer.message.bytes, bit: bit)))
      else { continue }
      #expect(throws: ProofError.differs("receipt")) { try proved.receipt(of: other) }
    }
    for bit in 8 * 11..<8 * 43 {
      let other = try Answer(Message(.verdict, flipped(answer.message.bytes, bit: bit)))
      #expect(throws: ProofError.differs("receipt")) { try proved.receipt(of: other) }
    }
    let late = Answer(.accepted, detail: 9, counter: 6, to: proved.nonce, with: world.secrets)
    #expect(throws: ProofError.answerToAnother(expected: 5, actual: 6)) {
      try proved.receipt(of: late)
    }
    let another = world.prove(ringBell, answering: challenge)
    #expect(throws: ProofError.differs("receipt")) { try another.receipt(of: answer) }
  }

  @Test("is never made from an answer without one")
  func hint() throws {
    let challenge = try Challenge(counter: 5, bytes: [UInt8](repeating: 3, count: 32))
    let proved = world.prove(openDoor, answering: challenge)
    let hint = Answer(.accepted, counter: 5, to: proved.nonce, with: nil)
    #expect(hint.isHint)
    #expect(throws: ProofError.unauthenticated(.accepted)) { try proved.receipt(of: hint) }
    #expect(throws: ProofError.unauthenticated(.accepted)) {
      try Receipt(hint, to: proved.nonce, with: world.secrets)
    }
  }

  @Test("of an answer that is equal in everything is equal, and so is the answer")
  func equality() throws {
    let nonce = ProofNonce.random()
    let answer = Answer(.accepted, detail: 1, counter: 2, to: nonce, with: world.secrets)
    let same = Answer(.accepted, detail: 1, counter: 2, to: nonce, with: world.secrets)
    let others = [
      Answer(.held, detail: 1, counter: 2, to: nonce, with: world.secrets),
      Answer(.accepted, detail: 2, counter: 2, to: nonce, with: world.secrets),
      Answer(.accepted, detail: 1, counter: 3, to: nonce, with: world.secrets),
      Answer(.accepted, detail: 1, counter: 2, to: .random(), with: world.secrets),
    ]
    #expect(answer == same)
    #expect(Set(others + [answer, same]).count == 5)
    let receipt = try Receipt(answer, to: nonce, with: world.secrets)
    #expect(try receipt == Receipt(same, to: nonce, with: world.secrets))
  }

  @Test("tells uses without limit from uses left, and attempts left")
  func details() throws {
    let nonce = ProofNonce.random()
    func receipt(_ verdict: Verdict, _ detail: UInt16) throws -> Receipt {
      let answer = Answer(verdict, detail: detail, to: nonce, with: world.secrets)
      return try Receipt(answer, to: nonce, with: world.secrets)
    }
    #expect(try receipt(.held, .max).usesLeft == nil)
    #expect(try receipt(.held, 65534).usesLeft == 65534)
    #expect(try receipt(.acceptedDeviceOnly, 0).usesLeft == 0)
    #expect(try receipt(.acceptedCopy, 5).usesLeft == 5)
    #expect(try receipt(.copied, 5).usesLeft == nil)
    for detail in UInt16(0)...9 {
      let policy = try receipt(.notPermitted, detail).ratchetPolicy
      #expect((policy == nil) == !(6...8).contains(detail))
      #expect(policy == .some(detail == 6 ? .report : detail == 7 ? .refuse : nil) || policy == nil)
      #expect(try receipt(.integrityDiffers, detail).ratchetPolicy == nil)
    }
    #expect(try receipt(.integrityDiffers, 2).attemptsLeft == 2)
    #expect(try receipt(.integrityDiffers, 2).usesLeft == nil)
  }
}

@Suite("A recall")
struct RecallTests {
  @Test("is opened by who shares its key, unchanged")
  func roundTrip() throws {
    let world = try World()
    let challenge = try Challenge(counter: 77, bytes: [UInt8](repeating: 3, count: 32))
    let proved = world.prove(openDoor, answering: challenge)
    let recall = proved.recall
    let opened = try Recall(recall.message, with: world.secrets)
    #expect(opened.counter == 77)
    #expect(opened.instance == world.instance)
    #expect(opened.nonce == proved.nonce)

    let other = try World(seed: 2).secrets
    #expect(throws: ProofError.differs("recall")) { try Recall(recall.message, with: other) }
    for bit in 0..<8 * 72 {
      let changed = try Message(.recall, flipped(recall.message.bytes, bit: bit))
      #expect(throws: ProofError.differs("recall")) { try Recall(changed, with: world.secrets) }
    }
  }
}

@Suite("Classes of commands")
struct CommandClassTests {
  @Test("are 0 to 15")
  func numbers() throws {
    for number in UInt8.min ... .max {
      #expect((CommandClass(rawValue: number) != nil) == (number < 16))
    }
    let text = Array("open".utf8)
    #expect(try Command("open", class: 1) == Command(text, class: CommandClass(UInt8(1))))
    let tooLarge: UInt8 = 16
    #expect(throws: ProofError.self) { try CommandClass(tooLarge) }
  }

  @Test("form a set")
  func set() throws {
    let classes = CommandClasses([1, 15] as [CommandClass])
    #expect(classes.rawValue == 0x8002)
    #expect(classes.contains(15 as CommandClass))
    #expect(!classes.contains(0 as CommandClass))
    #expect(CommandClasses.all.rawValue == 0xFFFF)
  }
}
