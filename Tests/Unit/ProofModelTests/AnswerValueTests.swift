// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

/// The meaning of each verdict by docs/SPEC.md, section 10, and small values of messages.
@Suite("The meaning of an answer")
struct AnswerValueTests {
  private let world: World
  private let nonce = try! ProofNonce([UInt8](repeating: 5, count: 16))

  init() throws { world = try World() }

  private func receipt(_ verdict: Verdict, _ detail: UInt16 = 0) throws -> Receipt {
    let answer = Answer(verdict, detail: detail, counter: 8, to: nonce, with: world.secrets)
    let receipt = try Receipt(answer, to: nonce, with: world.secrets)
    #expect(receipt.verdict == verdict && receipt.detail == detail && receipt.counter == 8)
    #expect(receipt.nonce == nonce)
    return receipt
  }

  @Test("tells uses, attempts and the ratchet's policy for its own verdicts alone")
  func details() throws {
    let uses: Set<UInt8> = [1, 2, 3, 4, 6, 7]
    for verdict in Verdict.allCases {
      let tellsUses = uses.contains(verdict.rawValue)
      for detail in [0, 9, .max - 1] as [UInt16] {
        #expect(try receipt(verdict, detail).usesLeft == (tellsUses ? detail : nil), "\(verdict)")
      }
      #expect(try receipt(verdict, .max).usesLeft == nil)
      #expect(try receipt(verdict, 9).attemptsLeft == (verdict.rawValue == 16 ? 9 : nil))
      for (detail, policy) in [
        (5, nil), (6, .some(.report)), (7, .some(.refuse)), (8, .some(nil)), (9, nil),
      ] as [(UInt16, RatchetPolicy??)] {
        let expected = verdict.rawValue == 19 ? policy : nil
        #expect(try receipt(verdict, detail).ratchetPolicy == expected, "\(verdict) \(detail)")
      }
    }
  }

  @Test("of a command is a deed, none, or not known any more")
  func outcomes() throws {
    for verdict in Verdict.allCases {
      let receipt = try receipt(verdict)
      let expected: Outcome =
        switch verdict.rawValue {
        case 1, 2, 6, 7: .accepted(receipt)
        case 18: .unknown
        default: .notExecuted
        }
      #expect(Outcome(receipt) == expected && expected.isAccepted == Outcome(receipt).isAccepted)
      #expect(Outcome(receipt).isAccepted == [1, 2, 6, 7].contains(verdict.rawValue))
    }
  }

  @Test("advises what the page says, and more carefully after a recall or about a loan")
  func advice() {
    let expected: [UInt8: Advice] = [
      1: .done, 2: .done, 3: .sendCommands, 4: .done, 5: .sendAgain, 6: .done, 7: .done,
      8: .sendCommands, 16: .measureAgain, 17: .measureAgain, 18: .sendAgain,
      19: .askForWiderRights, 20: .askForNewToken, 21: .askForNewToken, 22: .presentToken,
      23: .askForNewToken, 32: .presentToken, 33: .askForNewToken, 34: .askForNewToken,
      35: .askForNewToken, 36: .askForNewToken, 37: .useOtherBuild, 38: .askForRoom,
      39: .updateHardware, 48: .reportDefect, 49: .reconnectLater, 50: .callService,
    ]
    #expect(Verdict.allCases.map(\.rawValue).sorted() == expected.keys.sorted())
    for verdict in Verdict.allCases {
      for question in Question.allCases {
        var advice = expected[verdict.rawValue]
        if question == .recall, [5, 18].contains(verdict.rawValue) { advice = .lookFirst }
        if question == .delegation, [17, 19, 34, 35].contains(verdict.rawValue) {
          advice = .askForNewDelegation
        }
        #expect(verdict.advice(to: question) == advice, "\(verdict) to \(question)")
      }
    }
    #expect(Set(Advice.allCases.map(\.description)).count == Advice.allCases.count)
  }

  @Test("moves the ratchet by an accepted command alone, and apart where a copy was seen")
  func ratchet() throws {
    let token = try TokenDigest([UInt8](repeating: 1, count: 16))
    let (value, next, fork) = (
      [UInt8](repeating: 2, count: 16), [UInt8](repeating: 3, count: 16),
      [UInt8](repeating: 4, count: 16)
    )
    #expect(Ratchet.byteCount == 16 && Ratchet.copyProperty == "copy-seen")
    for policy in RatchetPolicy.allCases {
      let ratchet = Ratchet(
        policy, of: token, lastAccepted: 5, value: value, after: .init(next: next, fork: fork))
      for verdict in Verdict.allCases {
        let after = ratchet.following(verdict, counter: 9)
        let expected: (UInt64, [UInt8]) =
          switch verdict.rawValue {
          case 1, 2: (9, next)
          case 6, 7: (9, policy == .report ? fork : value)
          default: (5, value)
          }
        #expect(after.lastAccepted == expected.0 && after.value == expected.1, "\(verdict)")
        #expect(after.policy == policy && after.token == token && after.after == nil)
      }
      let fresh = Ratchet(policy, of: token)
      #expect(fresh.lastAccepted == 0 && fresh.value == nil && fresh.after == nil)
      #expect("\(ratchet)" == "ratchet: \(policy), last accepted 5")
    }
    #expect(RatchetPolicy.allCases.map(\.rawValue) == [1, 2])
  }

  @Test("has a reference by the hint of the hardware and a counter, a token or a loan")
  func references() throws {
    let token = try world.token(world.grant())
    let hint = Hexadecimal.encode(world.hardware.identity.id.bytes.prefix(4))
    for (counter, shown) in [
      (0, "0"), (1_042, "1042"), (UInt64(UInt32.max), "4294967295"), (1 << 32 + 7, "7"),
    ] as [(UInt64, String)] {
      #expect(HardwareReference.of(counter: counter, at: token).description == "\(hint)-\(shown)")
    }
    let digest = Hexadecimal.encode(token.digest.bytes.prefix(4))
    #expect(HardwareReference.of(token).description == "\(hint)-t\(digest)")
    let loan = try Delegation.Loan(
      of: CommandClasses(rawValue: 1), to: TokenDigest([UInt8](repeating: 3, count: 16)), uses: 1,
      until: 9, serial: 1)
    let lender = try Delegation.Lender(
      world.instance, at: world.hardware.identity.id, generation: 1, token: token.digest)
    let delegation = Delegation(loan, from: lender, with: world.secrets)
    let nonce = Hexadecimal.encode(delegation.nonce.bytes.prefix(4))
    #expect(HardwareReference.of(delegation, at: token).description == "\(hint)-g\(nonce)")
  }

  // MARK: Records

  @Test("records come back from their bytes, and replace others by name or by source")
  func records() throws {
    let evidence = world.evidence
    #expect(try EvidenceSet(recordBytes: evidence.recordBytes) == evidence)
    let one = try EvidenceRecord(SourceID(.app, 2), name: "ab", digest: .zero)
    let none = try EvidenceRecord(SourceID(.app, 2), name: "a", digest: nil)
    let both: [UInt8] =
      [2, 0, 0, 0] + [2, 2, 0, 1, 0x61] + [2, 2, 1, 2, 0x61, 0x62]
      + [UInt8](repeating: 0, count: 32)
    #expect(try EvidenceSet([one, none]).recordBytes == both)
    #expect(try EvidenceSet([]).recordBytes == [0, 0, 0, 0])
    var wrong: [[UInt8]] = [
      [], [0, 0, 0], both + [0], Array(both.dropLast()), [3] + both.dropFirst(),
    ]
    // Class, number, state and length of the first record; then a name that is not in order.
    for (index, byte) in [(4, 0), (4, 4), (5, 0), (6, 2), (7, 0), (8, 0x63)] as [(Int, UInt8)] {
      var changed = both
      changed[index] = byte
      wrong.append(changed)
    }
    for bytes in wrong {
      #expect(throws: ProofError.malformed("records", byteCount: bytes.count), "\(bytes)") {
        try EvidenceSet(recordBytes: bytes)
      }
    }
    let set = try EvidenceSet([one, none])
    let other = try EvidenceRecord(SourceID(.app, 2), name: "a", digest: .zero)
    let source = try SourceID(.app, 2)
    #expect(try set.replacing(with: [other], whole: []).records == [other, one])
    #expect(try set.replacing(with: [other], whole: [source]).records == [other])
    #expect(try set.replacing(with: [], whole: [source]).records == [])
    #expect(try set.replacing(with: [], whole: [SourceID(.app, 3)]) == set)
  }

  @Test("a record is the executable's by its name and by its source")
  func executable() throws {
    for (evidenceClass, number, name, isOne) in [
      (.app, 1, "executable", true), (.environment, 6, "executable", true),
      (.app, 2, "executable", false), (.environment, 1, "executable", false),
      (.app, 6, "executable", false), (.app, 1, "libc.so.6", false),
    ] as [(EvidenceClass, UInt8, String, Bool)] {
      let record = try EvidenceRecord(SourceID(evidenceClass, number), name: name, digest: nil)
      #expect(record.isOfExecutable == isOne, "\(record.source) \(name)")
    }
    #expect(try EvidenceRecord.ofExecutable == [SourceID(.app, 1), SourceID(.environment, 6)])
  }

  @Test("a difference is told by source and group, and by what cannot be compared")
  func differences() throws {
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let same = try Difference(of: world.evidence, under: world.config, with: world.key)
    #expect(same.isEmpty && "\(same)" == "nothing differs")
    let changed = try Difference(
      of: World.evidence(changing: "settings"), under: world.config, with: world.key)
    #expect(!changed.isEmpty && changed.changes.count == 1)
    let group = try #require(changed.changes.first?.group)
    #expect("\(changed)" == "source app 7, group \(group): among app 7 \"settings\"")
    let other = try Difference(
      of: World.evidence(changing: "machine-id"), under: world.config, with: world.key)
    #expect(other.deviceComparable && !other.appComparable && !other.isEmpty)
    #expect(
      "\(other)".hasSuffix("\napp and environment cannot be compared: another device"))
    let keyed = try Difference(of: world.evidence, under: world.config, with: key)
    #expect(!keyed.deviceComparable && !keyed.isEmpty)
    #expect("\(keyed)".contains("device sources cannot be compared: another key"))
  }

  // MARK: Answers of the service

  @Test("an answer has one to three pairs, each with a token, and only where it is done")
  func pairs() throws {
    let salt = world.draft.salt
    func answer(_ count: Int, token: String = "t", _ outcome: AttestationAnswer.Outcome = .done)
      -> AttestationAnswer
    {
      AttestationAnswer(
        to: salt, outcome,
        upcoming: (0..<count).map { UpcomingPair(world.config, token: token, label: "l\($0)") })
    }
    func isRead(_ answer: AttestationAnswer) -> Bool {
      let bytes = answer.bytes(with: world.key)
      return (try? AttestationAnswer(bytes, to: salt, with: world.key)) == answer
    }
    for count in 1...3 {
      #expect(isRead(answer(count)) && answer(count).bytes(with: world.key)[2] == 4)
    }
    #expect(!isRead(answer(1, token: "")) && !isRead(answer(1, .rejected)))
    let bytes = answer(3).bytes(with: world.key)
    let pair = 4 + world.config.bytes.count + 4 + 1 + 2 + 2
    let place = bytes.count - 32 - 3 * pair - 1
    #expect(bytes[place] == 3)
    for count in [0, 2, 4] as [UInt8] {
      var changed = bytes
      changed[place] = count
      #expect(throws: ProofError.self) {
        try AttestationAnswer(changed, to: salt, with: world.key)
      }
    }
    #expect(UpcomingPair.countMax == 3 && UpcomingPair.property == ("upcoming", "1"))
  }
}
