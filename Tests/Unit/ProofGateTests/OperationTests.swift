// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofGate

/// Operations of a gate in trouble: second questions, emergency tokens, and a roll-out by percentage.
@Suite struct OperationTests {
  private static let id = "0123456789abcdef0123456789abcdef"
  private static let lines = [
    (name: "X-Original-Method", value: "POST"), (name: "X-Original-URI", value: "/pay"),
    (name: "X-Original-Request-ID", value: id), (name: "Signature", value: "a"),
  ]

  private func named(
    _ change: (inout [(name: String, value: String)]) -> Void = { _ in }
  ) -> Digest? {
    var lines = Self.lines
    change(&lines)
    return SecondQuestions.name(of: lines, from: "192.0.2.1", .original)
  }

  private func pass(_ number: Int = 0) -> ForwardAnswer {
    var answer = ForwardAnswer(
      status: 200, fields: [(name: "Proof-Verdict", value: "v\(number)")], reference: "r",
      route: "pay")
    answer.handle = "h"
    return answer
  }

  @Test("The same question with the same id gets the first answer for five seconds")
  func again() throws {
    let time = CoreLock<UInt64>(1)
    let memory = SecondQuestions { time.withLock { $0 } }
    let name = try #require(named())
    #expect(memory.answer(to: name) == nil)
    memory.keep(pass(), to: name)
    #expect(memory.answer(to: name)?.fields[0].value == "v0")
    #expect(memory.answer(to: name)?.code == "asked-again")
    time.withLock { $0 += 5_000_000 }
    #expect(memory.answer(to: name) != nil)
    time.withLock { $0 += 1 }
    #expect(memory.answer(to: name) == nil)
  }

  @Test("Another line, value, order, address or id is another question")
  func other() throws {
    let own = try #require(named())
    #expect(named() == own)
    #expect(named { $0[0].value = "GET" } != own)
    #expect(named { $0[1].value = "/pay2" } != own)
    #expect(named { $0[2].value = String(Self.id.reversed()) } != own)
    #expect(named { $0[3].value = "b" } != own)
    #expect(named { $0.append((name: "Cookie", value: "a")) } != own)
    #expect(named { $0.swapAt(0, 1) } != own)
    #expect(named { $0[3] = (name: "Signaturea", value: "") } != own)
    #expect(SecondQuestions.name(of: Self.lines, from: "192.0.2.2", .original) != own)
    #expect(SecondQuestions.name(of: Self.lines, [1], from: "192.0.2.1", .original) != own)
  }

  @Test("A question without one id of the proxy is none that may be asked again")
  func ids() {
    #expect(named { $0.remove(at: 2) } == nil)
    #expect(named { $0[2].name = "X-Request-ID" } == nil, "a client's own field")
    #expect(named { $0.append((name: "X_Original_Request_ID", value: Self.id)) } == nil)
    #expect(named { $0[2].value = "short" } == nil)
    #expect(named { $0[2].value = String(repeating: "a", count: 129) } == nil)
    #expect(SecondQuestions.name(of: Self.lines, from: nil, .forwarded) == nil)
  }

  @Test("Only passes of apps are remembered, and their number is bounded")
  func bounds() throws {
    let memory = SecondQuestions(capacity: 8) { 1 }
    let name = try #require(named())
    var refused = pass()
    refused.status = 401
    memory.keep(refused, to: name)
    var open = pass()
    open.handle = nil
    memory.keep(open, to: name)
    var long = pass()
    long.fields.append((name: "a", value: String(repeating: "b", count: 4096)))
    memory.keep(long, to: name)
    #expect(memory.answer(to: name) == nil)
    // `Proof-Verdict`, `v0` and `a` are 16 bytes.
    for (count, isKept) in [(4081, false), (4080, true)] {
      let memory = SecondQuestions(capacity: 1) { 1 }
      long.fields[1].value = String(repeating: "b", count: count)
      memory.keep(long, to: name)
      #expect((memory.answer(to: name) != nil) == isKept, "\(count)")
    }
    let names = (0..<100).map { Digest(hashing: [UInt8($0)]) }
    for (number, name) in names.enumerated() { memory.keep(pass(number), to: name) }
    #expect(memory.count == 8)
    #expect(names.suffix(8).allSatisfy { memory.answer(to: $0) != nil })
    #expect(names.prefix(92).allSatisfy { memory.answer(to: $0) == nil })
  }

  @Test("The oldest answer makes room, one after the other, and each place is used again")
  func room() {
    let memory = SecondQuestions(capacity: 3) { 1 }
    let names = (0..<8).map { Digest(hashing: [UInt8($0)]) }
    for (number, name) in names.enumerated() {
      memory.keep(pass(number), to: name)
      memory.keep(pass(number), to: name)
      for (other, name) in names.prefix(number + 1).enumerated() {
        #expect(
          (memory.answer(to: name) != nil) == (other + 3 > number), "\(other) after \(number)")
      }
    }
    #expect(SecondQuestions.capacity == 4096)
  }

  @Test("An id has 16 to 128 characters, and the length of each line counts")
  func lengths() {
    for (count, isID) in [(15, false), (16, true), (128, true), (129, false)] {
      let name = named { $0[2].value = String(repeating: "a", count: count) }
      #expect((name != nil) == isID, "\(count)")
    }
    // A missing address differs from an empty one and from a further line; so does a missing body.
    let none = SecondQuestions.name(of: Self.lines, from: nil, .original)
    #expect(none != named() && none == SecondQuestions.name(of: Self.lines, from: "", .original))
    #expect(
      SecondQuestions.name(of: Self.lines, [], from: nil, .original)
        != SecondQuestions.name(of: Self.lines, [1], from: nil, .original))
    #expect(named { $0[3] = (name: "signature", value: "a") } == named(), "names have no case")
  }

  @Test(
    "An emergency token counts by its digest until it ends, and a file that is none has its line")
  func bypass() throws {
    let text =
      "# by whom\n" + BypassFile.line(for: "secret", named: "on-call", until: 100)
      + BypassFile.line(for: "other", named: "second", until: 200)
    let file = try BypassFile(Array(text.utf8))
    #expect(
      file.name(of: "secret", at: 100) == "on-call" && file.name(of: "secret", at: 101) == nil)
    #expect(file.name(of: "other", at: 101) == "second")
    for wrong in ["", "secre", "secret ", "Secret"] { #expect(file.name(of: wrong, at: 1) == nil) }
    #expect(
      file.name(of: Hexadecimal.encode(Digest(hashing: Array("secret".utf8)).bytes), at: 1) == nil)
    #expect(try BypassFile([]).name(of: "", at: 0) == nil)
    let name32 = String(repeating: "n", count: 32)
    let digits = Self.id + Self.id
    for good in ["\(name32) \(digits) 7", "A-z.0_9 \(digits)\t7 # a", "  a \(digits) 7\r"] {
      #expect(throws: Never.self) { try BypassFile(Array(good.utf8)) }
    }
    for (bad, line) in [
      ("\n\(name32)n \(digits) 7", 2), ("a \(digits) -7", 1), ("a \(digits) 7 8", 1),
      ("\n\na \(digits)", 3),
      ("a/b \(digits) 7", 1), ("a \(digits)00 7", 1),
    ] {
      let error = #expect(throws: BypassFileError.self) { try BypassFile(Array(bad.utf8)) }
      #expect(error?.description.hasPrefix("line \(line): write NAME, 64 hexadecimal") == true)
    }
    let most = (0..<64).map { "a\($0) \(digits) 7\n" }.joined()
    #expect(throws: Never.self) { try BypassFile(Array(most.utf8)) }
    let many = #expect(throws: BypassFileError.self) {
      try BypassFile(Array((most + "b \(digits) 7").utf8))
    }
    #expect(many?.description == "line 65: a file has at most 64 tokens")
    let full = [UInt8](repeating: UInt8(ascii: "#"), count: 65_536)
    #expect(throws: Never.self) { try BypassFile(full) }
    for wrong in [full + [0x23], [0xFF]] as [[UInt8]] {
      let error = #expect(throws: BypassFileError.self) { try BypassFile(wrong) }
      #expect(error?.description == "line 1: the file is too long, or no text")
    }
    for bad in [
      "a b c", "a \(String(repeating: "0", count: 62)) 1", "a b", "ä \(Self.id)\(Self.id) 1",
    ] {
      #expect(throws: BypassFileError.self, "\(bad)") { try BypassFile(Array("\n\(bad)\n".utf8)) }
    }
  }

  @Test("Files of emergency tokens of any form are read or refused")
  func bypassFuzz() {
    let line = BypassFile.line(for: "secret", named: "on-call", until: 100)
    var mutator = Mutator("bypass files")
    for _ in 0..<Mutator.rounds {
      let bytes = mutator.mutant(of: [Array(line.utf8), Array("# a\n\(line)\(line)".utf8)])
      if let file = try? BypassFile(bytes) { #expect(file.name(of: "other", at: 0) == nil) }
    }
  }

  @Test("A share is stable, grows without losing a client, and is about as large as it says")
  func rollout() throws {
    func taken(_ percent: Int, rule: String = "a") throws -> Set<Int> {
      let rollout = try #require(Rollout(percent))
      return Set((0..<5000).filter { rollout.takes(handle: "h\($0)", address: nil, rule: rule) })
    }
    #expect(try taken(0).isEmpty && taken(100).count == 5000)
    let (ten, half) = (try taken(10), try taken(50))
    #expect(try ten == taken(10) && ten.isSubset(of: half))
    #expect((350...650).contains(ten.count) && (2250...2750).contains(half.count))
    #expect(try taken(10, rule: "b") != ten)
    let share = try #require(Rollout(50))
    for number in 0..<50 {
      let one = share.takes(handle: nil, address: "2001:db8:0:\(number)::1", rule: "a")
      #expect(one == share.takes(handle: nil, address: "2001:db8:0:\(number)::2", rule: "a"))
    }
    // A client without a handle counts by its address, and one without both is one client.
    let addresses = (0..<5000).filter {
      share.takes(handle: nil, address: "10.0.\($0 / 250).\($0 % 250)", rule: "a")
    }
    #expect((2250...2750).contains(addresses.count))
    #expect(
      share.takes(handle: "h7", address: "a", rule: "a")
        == share.takes(handle: "h7", address: nil, rule: "a"))
    // Nodes of two versions draw alike: four bytes of the SHA-256 of rule, blank and client.
    let (one, most) = (try #require(Rollout(1)), try #require(Rollout(99)))
    for number in 0..<2000 {
      let bytes = Digest(hashing: Array("a h\(number)".utf8)).bytes
      let drawn =
        (UInt32(bytes[0]) << 24 | UInt32(bytes[1]) << 16 | UInt32(bytes[2]) << 8 | UInt32(bytes[3]))
        % 10_000
      #expect(one.takes(handle: "h\(number)", address: nil, rule: "a") == (drawn < 100))
      #expect(most.takes(handle: "h\(number)", address: nil, rule: "a") == (drawn < 9_900))
    }
    #expect(Rollout(-1) == nil && Rollout(101) == nil)
    #expect(Rollout(0)?.percent == 0 && Rollout(100) == .all)
  }
}
