// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

@Suite("A delegation")
struct DelegationTests {
  private static func secrets(_ block: Block) throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: block.secret("k"), integrity: block.secret("im"),
      deviceKey: block.secret("dpk"), device: block.secret("dm"), form: .diversified)
  }

  /// That of the first vector.
  private static func made() throws -> Delegation {
    let block = try #require(Block.read("grant.txt", "grant").first)
    return try Delegation(block.bytes("grant"))
  }

  @Test("is that of the second implementation", arguments: Block.read("grant.txt", "grant"))
  func vectors(block: Block) throws {
    let member = try TokenDigest(block.bytes("member"))
    let serial = try #require(UInt32(block["serial"]))
    let classes = try #require(UInt16(block["classes"]))
    let end = try #require(UInt64(block["end"]))
    let loan =
      classes == 0
      ? try Delegation.Loan(takingBackFrom: member, serial: serial)
      : try Delegation.Loan(
        of: CommandClasses(rawValue: classes), to: member, uses: #require(UInt16(block["uses"])),
        until: UnixTime(clamping: end), serial: serial)
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let lender = try Delegation.Lender(
      InstanceID(block.bytes("owner")), at: hardware,
      generation: #require(UInt32(block["generation"])),
      token: TokenDigest(block.bytes("token_digest")))
    let secrets = try Self.secrets(block)
    let delegation = Delegation(loan, from: lender, with: secrets)
    #expect(delegation.bytes == block.bytes("grant"))
    #expect(delegation.nonce.bytes == block.bytes("digest"))
    #expect(delegation.hints(at: hardware))
    #expect(delegation.owner == lender.instance && delegation.loan == loan)
    #expect(delegation.generation == lender.generation)
    #expect(loan.takesBack == (classes == 0) && (loan.end == nil) == loan.takesBack)
    try delegation.check(with: secrets, at: hardware, token: lender.token)
    // Bytes and text are read back.
    #expect(try Delegation(delegation.bytes) == delegation)
    #expect(delegation.text.utf8.count == 128)
    #expect(try Delegation(text: delegation.text) == delegation)
    #expect(Set([delegation, try Delegation(delegation.bytes)]).count == 1)
  }

  @Test("of another length is malformed")
  func lengths() throws {
    let bytes = try Self.made().bytes + [0, 0, 0, 0]
    for count in 0...100 where count != Delegation.byteCount {
      #expect(throws: ProofError.malformed("delegation", byteCount: count)) {
        try Delegation(Array(bytes.prefix(count)))
      }
    }
  }

  @Test("with a changed bit is another one, or none, and its owner did not make it")
  func changed() throws {
    let block = try #require(Block.read("grant.txt", "grant").first)
    let (whole, secrets) = (try Self.made(), try Self.secrets(block))
    let hardware = try HardwareID(block.bytes("hardware_id"))
    let token = try TokenDigest(block.bytes("token_digest"))
    for bit in 0..<8 * Delegation.byteCount {
      var bytes = whole.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let changed = try? Delegation(bytes) else { continue }
      #expect(changed != whole && changed.nonce != whole.nonce)
      #expect(throws: ProofError.self) {
        try changed.check(with: secrets, at: hardware, token: token)
      }
    }
  }

  @Test("that is not base64url is malformed")
  func text() throws {
    let text = try Self.made().text
    for bad in ["", "x", String(text.dropLast()), text + "A", text + "=", " " + text, "é" + text] {
      #expect(throws: ProofError.self) { try Delegation(text: bad) }
    }
    let changed = text.dropLast() + (text.last == "A" ? "B" : "A")
    #expect(try Delegation(text: String(changed)) != Self.made())
  }

  @Test("of a later version, or with a reserved byte, is too new")
  func tooNew() throws {
    for index in [2, 3, 60, 63] {
      var bytes = try Self.made().bytes
      bytes[index] = 9
      #expect(throws: ProofError.tooNew("delegation")) { try Delegation(bytes) }
    }
  }

  @Test("lends within its limits")
  func limits() throws {
    let member = try TokenDigest([UInt8](repeating: 1, count: 16))
    let one = CommandClasses(0)
    _ = try Delegation.Loan(of: one, to: member, uses: 1, until: 1, serial: 1)
    let most = try Delegation.Loan(
      of: .all, to: member, uses: Delegation.Loan.usesMax, until: UnixTime(seconds: .max),
      serial: .max)
    #expect(most.end == UnixTime(seconds: .max))
    for (classes, uses, end, serial) in [
      ([], 1, 1, 1), (one, 0, 1, 1), (one, .max, 1, 1), (one, 1, 0, 1), (one, 1, -1, 1),
      (one, 1, 1, 0),
    ] as [(CommandClasses, UInt16, UnixTime, UInt32)] {
      #expect(throws: ProofError.self) {
        try Delegation.Loan(of: classes, to: member, uses: uses, until: end, serial: serial)
      }
    }
    #expect(throws: ProofError.self) {
      try Delegation.Loan(takingBackFrom: member, serial: 0)
    }
    #expect(throws: ProofError.self) {
      try Delegation.Lender(
        InstanceID([UInt8](repeating: 1, count: 16)),
        at: HardwareID([UInt8](repeating: 1, count: 16)), generation: 0, token: member)
    }
    // The end is written in whole seconds.
    let fraction = try Delegation.Loan(
      of: one, to: member, uses: 1, until: UnixTime(seconds: 5, nanoseconds: 9), serial: 1)
    #expect(fraction.end == 5)
  }

  @Test("tells owner and loan, and no more than its bytes do")
  func described() throws {
    let delegation = try Self.made()
    #expect("\(delegation)".hasPrefix("delegation: \(delegation.owner) lends 2 uses to token "))
    let back = try Delegation.Loan(takingBackFrom: delegation.loan.member, serial: 9)
    #expect("\(back)" == "takes back from token \(delegation.loan.member), serial 9")
  }

  @Test("has a tag that the observer of the app can replace before it leaves")
  func released() throws {
    let block = try #require(Block.read("grant.txt", "grant").first)
    let whole = try Self.made()
    let lender = try Delegation.Lender(
      whole.owner, at: HardwareID(block.bytes("hardware_id")), generation: whole.generation,
      token: TokenDigest(block.bytes("token_digest")))
    var seen: Proof?
    let replaced = try Delegation(whole.loan, from: lender, with: Self.secrets(block)) {
      tag throws(ProofError) in
      seen = tag
      tag = try Proof([UInt8](repeating: 0, count: 32))
    }
    #expect(seen.map { Array($0.bytes) } == Array(whole.bytes.suffix(32)))
    #expect(replaced.bytes == whole.bytes.prefix(64) + [UInt8](repeating: 0, count: 32))
    #expect(replaced != whole)
  }
}
