// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("Documents that a backend signs, at their bounds")
struct GrantBoundTests {
  /// The parts of a grant that a test changes.
  private struct Parts {
    var integrityClasses = CommandClasses(rawValue: 7)
    var deviceClasses = CommandClasses(rawValue: 1)
    var attempts: UInt16 = 3
    var uses = Uses.limited(10)
    var generation: UInt32 = 5
    var issued: UnixTime = 1_800_000_000
    var notAfter: UnixTime?
    var form = TokenForm.diversified
    var version = TokenVersion.two
    var base: UInt32?
    var isUpcoming = false
    var ratchet: RatchetPolicy?
    var demandsSealing = false
    var permitsChannel = false
    var delegableClasses: CommandClasses = []

    func made() throws -> MeasurementGrant {
      try MeasurementGrant(
        for: .random(), instance: .random(), mode: .production,
        integrityClasses: integrityClasses, deviceClasses: deviceClasses, attempts: attempts,
        uses: uses, generation: generation, issued: issued, notAfter: notAfter,
        secrets: HardwareSecrets(
          integrityKey: .random(count: 16), integrity: .random(count: 32),
          deviceKey: .random(count: 16), device: .random(count: 32), form: form),
        version: version, base: base, isUpcoming: isUpcoming, ratchet: ratchet,
        demandsSealing: demandsSealing, permitsChannel: permitsChannel,
        delegableClasses: delegableClasses)
    }
  }

  @Test("a grant is refused with the field, its value and the values allowed")
  func refused() throws {
    let changes: [((inout Parts) -> Void, String, String, String)] = [
      (
        { ($0.version, $0.delegableClasses) = (.one, CommandClasses(rawValue: 1)) },
        "set of classes to delegate", "0x1", "none in version one"
      ),
      (
        { $0.delegableClasses = CommandClasses(rawValue: 0x1F) }, "set of classes to delegate",
        "0x1f", "a subset of 0x7"
      ),
      (
        { ($0.version, $0.demandsSealing) = (.one, true) }, "demand for sealed commands", "yes",
        "no in version one"
      ),
      (
        { ($0.version, $0.permitsChannel) = (.one, true) }, "permission of a channel", "yes",
        "no in version one"
      ),
      (
        { ($0.integrityClasses, $0.deviceClasses) = ([], []) },
        "set of classes for an integrity match", "empty", "one or more"
      ),
      (
        { $0.deviceClasses = CommandClasses(rawValue: 0x1F) }, "set of classes for a device match",
        "0x1f", "a subset of 0x7"
      ),
      ({ $0.attempts = 0 }, "number of attempts", "0", "1 to 65535"),
      (
        { $0.uses = .limited(0) }, "number of uses", "0", "1 to 4294967294, or unlimited"
      ),
      (
        { $0.uses = .limited(.max) }, "number of uses", "4294967295",
        "1 to 4294967294, or unlimited"
      ),
      ({ $0.generation = 0 }, "generation", "0", "1 to 4294967294"),
      ({ $0.generation = .max }, "generation", "4294967295", "1 to 4294967294"),
      ({ $0.issued = 0 }, "time of issue", "0", "Unix seconds from 1"),
      (
        { $0.notAfter = 1_799_999_999 }, "end", "1799999999",
        "Unix seconds from 1800000000, the issue"
      ),
      ({ $0.base = 0 }, "base", "0", "1 to 5, the generation"),
      ({ $0.base = 6 }, "base", "6", "1 to 5, the generation"),
    ]
    for (change, field, value, allowed) in changes {
      var parts = Parts()
      change(&parts)
      #expect(throws: ProofError.outOfRange(field: field, value: value, allowed: allowed)) {
        try parts.made()
      }
    }
    for change: (inout Parts) -> Void in [
      { ($0.version, $0.isUpcoming) = (.one, true) },
      { ($0.form, $0.isUpcoming) = (.literal, true) },
    ] {
      var parts = Parts()
      change(&parts)
      #expect(throws: ProofError.wrongMode("upcoming measurement grant")) { try parts.made() }
    }
  }

  @Test("a grant is made with each part at its bounds, and says what it was made with")
  func made() throws {
    let changes: [(inout Parts) -> Void] = [
      { _ in }, { $0.version = .one }, { $0.delegableClasses = CommandClasses(rawValue: 7) },
      { $0.delegableClasses = CommandClasses(rawValue: 4) }, { $0.demandsSealing = true },
      { $0.permitsChannel = true }, { $0.integrityClasses = CommandClasses(rawValue: 1) },
      { $0.deviceClasses = [] }, { $0.deviceClasses = CommandClasses(rawValue: 7) },
      { $0.attempts = 1 }, { $0.attempts = .max }, { $0.uses = .limited(1) },
      { $0.uses = .limited(.max - 1) }, { $0.uses = .unlimited }, { $0.generation = 1 },
      { $0.generation = .max - 1 }, { $0.issued = 1 }, { $0.notAfter = 1_800_000_000 },
      { $0.base = 1 }, { $0.base = 5 }, { $0.isUpcoming = true }, { $0.form = .literal },
    ]
    for (index, change) in changes.enumerated() {
      var parts = Parts()
      change(&parts)
      let grant = try parts.made()
      #expect(grant.integrityClasses == parts.integrityClasses, "change \(index)")
      #expect(grant.deviceClasses == parts.deviceClasses && grant.attempts == parts.attempts)
      #expect(grant.delegableClasses == parts.delegableClasses && grant.uses == parts.uses)
      #expect(grant.generation == parts.generation && grant.issued == parts.issued)
      #expect(grant.notAfter == parts.notAfter && grant.version == parts.version)
      #expect(grant.base == parts.base ?? parts.generation && grant.issuer == nil)
      #expect(grant.isUpcoming == parts.isUpcoming && grant.ratchet == nil)
      #expect(grant.demandsSealing == parts.demandsSealing)
      #expect(grant.permitsChannel == parts.permitsChannel && grant.mode == .production)
    }
  }

  @Test("an order is refused with the field, its value and the values allowed")
  func orders() throws {
    let id = HardwareID.random()
    #expect(
      throws: ProofError.outOfRange(
        field: "time of issue", value: "0", allowed: "Unix seconds from 1")
    ) { try Order(.epoch(id), issued: 0) }
    for generation in [0, UInt32.max] {
      #expect(
        throws: ProofError.outOfRange(
          field: "generation", value: "\(generation)", allowed: "1 to 4294967294, or nil for all")
      ) { try Order(.revoke(.random(), through: generation, id), issued: 1) }
    }
    #expect(try Order(.floor(id), issued: 1).issued == 1)
    #expect(SignedOrder.byteCount == 124 && Order.epochStep == 400 * 86_400)
  }

  @Test("a loan is refused with the field, its value and the values allowed")
  func loans() throws {
    let member = try TokenDigest([UInt8](repeating: 3, count: 16))
    func refusal(
      _ classes: UInt16 = 1, uses: UInt16 = 1, until end: UnixTime = 1, serial: UInt32 = 1
    ) -> ProofError? {
      do {
        let loan = try Delegation.Loan(
          of: CommandClasses(rawValue: .init(classes)), to: member, uses: uses, until: end,
          serial: serial)
        #expect(loan.uses == uses && loan.serial == serial && loan.end == end.whole)
        #expect(loan.classes.rawValue == .init(classes) && loan.member == member)
        #expect(!loan.takesBack)
        #expect(loan.description == "lends \(uses) uses to token \(member), serial \(serial)")
        return nil
      } catch { return error }
    }
    let most = Delegation.Loan.usesMax
    #expect(refusal() == nil && refusal(uses: most) == nil && refusal(serial: .max) == nil)
    #expect(refusal(0xFF, until: UnixTime(seconds: 5, nanoseconds: 9)) == nil)
    #expect(
      refusal(0)
        == .outOfRange(field: "set of classes to lend", value: "empty", allowed: "one or more"))
    for uses in [0, most + 1] {
      #expect(
        refusal(uses: uses)
          == .outOfRange(
            field: "number of uses to lend", value: "\(uses)", allowed: "1 to \(most)"))
    }
    #expect(
      refusal(until: 0)
        == .outOfRange(field: "end", value: "0", allowed: "Unix seconds from 1"))
    let serial = ProofError.outOfRange(field: "serial", value: "0", allowed: "1 to 4294967295")
    #expect(refusal(serial: 0) == serial)
    #expect(throws: serial) { try Delegation.Loan(takingBackFrom: member, serial: 0) }
    let back = try Delegation.Loan(takingBackFrom: member, serial: 1)
    #expect(back.takesBack && back.uses == 0 && back.end == nil && back.serial == 1)
    #expect(back.description == "takes back from token \(member), serial 1")
    #expect(
      throws: ProofError.outOfRange(field: "generation", value: "0", allowed: "1 to 4294967295")
    ) { try Delegation.Lender(.random(), at: .random(), generation: 0, token: member) }
    let lender = try Delegation.Lender(.random(), at: .random(), generation: 1, token: member)
    #expect(lender.generation == 1 && lender.token == member)
  }
}

@Suite("Work for a challenge")
struct WorkBoundTests {
  private static func id(_ kind: UInt8, level: UInt8, version: UInt8 = 1) -> String {
    Base64.encode(
      [version << 4 | kind, 1, level, 0] + [UInt8](repeating: 7, count: 56), .url)
  }

  @Test("is taken up to the level that the caller allows, and to that of the page")
  func levels() throws {
    func refusal(_ kind: UInt8, _ level: UInt8, _ puzzles: UInt8, _ pairings: UInt8) -> ProofError?
    {
      do {
        let solver = try WorkSolver(
          Self.id(kind, level: level), puzzleLevelMax: puzzles, pairingLevelMax: pairings)
        #expect(solver.level == level && solver.kind.rawValue == kind && solver.hashes == 0)
        #expect(solver.count == (kind == 7 ? 16 : level))
        return nil
      } catch { return error }
    }
    for (kind, most) in [(7, 24), (8, 7)] as [(UInt8, UInt8)] {
      for limit in [1, most, .max] as [UInt8] {
        let highest = min(limit, most)
        for level in [1, highest] { #expect(refusal(kind, level, limit, limit) == nil) }
        for level in [0, highest + 1] {
          #expect(
            refusal(kind, level, limit, limit)
              == .outOfRange(
                field: "level of a challenge", value: "\(level)", allowed: "1 to \(highest)"))
        }
      }
    }
    #expect(refusal(7, 5, 5, 1) == nil && refusal(8, 2, 1, 2) == nil)
    #expect((try? WorkSolver(Self.id(7, level: 18))) != nil)
    #expect((try? WorkSolver(Self.id(7, level: 19))) == nil)
    #expect((try? WorkSolver(Self.id(8, level: 4))) != nil)
    #expect((try? WorkSolver(Self.id(8, level: 5))) == nil)
    for text in [
      "", String(Self.id(7, level: 1).dropLast(4)), Self.id(7, level: 1) + "AAAA",
      Self.id(6, level: 1), Self.id(9, level: 1), Self.id(7, level: 1, version: 2),
      Self.id(7, level: 1, version: 0), String(repeating: "*", count: 80),
    ] {
      #expect(
        throws: ProofError.malformed("challenge of kind work", byteCount: text.utf8.count)
      ) { try WorkSolver(text) }
    }
  }

  @Test("is solved part by part, and a solution of another size or level solves nothing")
  func solved() throws {
    var solver = try WorkSolver(Self.id(7, level: 3))
    var text: String?
    var steps = 0
    while text == nil {
      text = solver.step(1)
      steps += 1
    }
    let solution = try #require(text.flatMap { Base64.decode($0, .url) })
    #expect(solution.count == 64 && CorePuzzle.puzzleSolution == 64)
    #expect(solver.hashes == steps && steps >= 16)
    let id = try #require(Base64.decode(Self.id(7, level: 3), .url))
    let seed = CorePuzzle.seed(id)
    #expect(CorePuzzle.isSolved(solution, seed, level: 3))
    for level in [0, 25] as [UInt8] { #expect(!CorePuzzle.isSolved(solution, seed, level: level)) }
    for other in [[], Array(solution.dropLast()), solution + [0]] {
      #expect(!CorePuzzle.isSolved(other, seed, level: 3))
    }
    // Each part by itself is that of the whole.
    for index in UInt8(0)..<16 {
      var problem = try WorkSolver(Self.id(7, level: 3)).problem(index)
      guard case .solved(let part) = problem.step() else {
        Issue.record("problem \(index)")
        continue
      }
      #expect(Array(solution[4 * Int(index)..<4 * Int(index) + 4]) == part)
    }
    #expect(CorePuzzle.puzzleCount == 16 && CorePuzzle.puzzleLevels == 1...24)
    #expect(CorePuzzle.pairingLevels == 1...7 && CorePuzzle.pairingSolution == 42)
    #expect(!CorePuzzle.isPaired([], id, index: 0))
    #expect(!CorePuzzle.isPaired([UInt8](repeating: 0, count: 42)[...], [], index: 0))
    #expect(!CorePuzzle.isPaired([UInt8](repeating: 0, count: 41)[...], id, index: 0))
    #expect(!CorePuzzle.isPaired([UInt8](repeating: 0, count: 43)[...], id, index: 0))
  }

  @Test("of memory is solved with one attempt a step")
  func paired() throws {
    let text = Self.id(8, level: 1)
    var solver = try WorkSolver(text)
    var solution: String?
    var steps: UInt64 = 0
    while solution == nil {
      solution = solver.step()
      steps += 1
    }
    let bytes = try #require(solution.flatMap { Base64.decode($0, .url) })
    let id = try #require(Base64.decode(text, .url))
    #expect(bytes.count == 42 && solver.hashes == steps)
    #expect(CorePuzzle.isPaired(bytes[...], id, index: 0))
    #expect(!CorePuzzle.isPaired(bytes[...], id, index: 1))
  }
}
