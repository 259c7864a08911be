// SPDX-License-Identifier: Apache-2.0

import FolderModel
@testable import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@Suite("Suites of measurement tokens")
struct TokenSuiteTests {
  private static let drawn = [UInt8](60...91)
  private static let other = [UInt8](61...92)

  enum Known: CaseIterable, Sendable { case right, wrong, missing }

  struct Meeting: Sendable, CustomTestStringConvertible {
    /// Whether the hardware has a factory secret.
    let hasSecret: Bool
    let features: HardwareFeatures
    /// The factory secret that the registry has.
    let known: Known

    var testDescription: String {
      "secret in hardware: \(hasSecret), features: \(features.rawValue), in the registry: \(known)"
    }

    static let all = [false, true].flatMap { hasSecret in
      [[], [.tokenVersionTwo], Backend.withSecret, [.factorySecret]].flatMap { features in
        Known.allCases.map { Meeting(hasSecret: hasSecret, features: features, known: $0) }
      }
    }
  }

  private func factory(_ drawn: [UInt8], of id: HardwareID) throws -> FactorySecret {
    try FactorySecret(of: id, drawn: SecretBytes(copying: drawn.span))
  }

  private func backend(_ meeting: Meeting) throws -> Backend {
    let backend = try Backend(
      drawn: meeting.hasSecret ? Self.drawn : nil, features: meeting.features)
    let id = backend.hardware
    switch meeting.known {
    case .right: backend.registry.secrets[id] = try factory(Self.drawn, of: id)
    case .wrong: backend.registry.secrets[id] = try factory(Self.other, of: id)
    case .missing: break
    }
    return backend
  }

  @Test(
    "old and new hardware, registration and secret meet in every combination",
    arguments: Meeting.all)
  func meets(_ meeting: Meeting) throws {
    let backend = try backend(meeting)
    func issue() throws -> MeasurementToken {
      try backend.issuer.issue(to: backend.app(), for: backend.hardware, Backend.permissions)
    }
    let isSafe = meeting.features.contains(.factorySecret)
    if isSafe, meeting.known == .missing {
      #expect(throws: BackendError.factorySecretMissing(backend.hardware)) { try issue() }
      // Nothing was noted.
      #expect(try backend.ledger.latestTime() == nil)
      return
    }
    let token = try issue()
    #expect(token.bytes[3] == (isSafe ? 2 : 1))
    let isTwo = isSafe || meeting.features.contains(.tokenVersionTwo)
    #expect(token.bytes[2] == (isTwo ? 2 : 1))
    switch (meeting.hasSecret, isSafe, meeting.known) {
    case (false, false, _), (true, true, .right):
      let grant = try backend.keys.open(token)
      #expect(grant.version == (isTwo ? .two : .one))
      #expect(grant.instance.bytes == Backend.instanceBytes && grant.generation == 3)
    case (true, false, _):
      #expect(throws: ProofError.wrongMode("measurement token")) { try backend.keys.open(token) }
    case (false, true, _):
      #expect(throws: ProofError.tooNew("measurement token")) { try backend.keys.open(token) }
    case (true, true, _):
      #expect(throws: ProofError.notForThisHardware("measurement token")) {
        try backend.keys.open(token)
      }
    }
  }

  @Test("a registry without factory secrets issues nothing for hardware that has one")
  func plainRegistry() throws {
    let backend = try Backend(drawn: Self.drawn, features: Backend.withSecret)
    let issuer = MeasurementTokenIssuer(
      backend.issuerKey, for: PlainRegistry(hardware: backend.registry.all[backend.hardware]!),
      ledger: backend.ledger, clock: .fixed(Backend.now))
    #expect(throws: BackendError.factorySecretMissing(backend.hardware)) {
      try issuer.issue(to: backend.app(), for: backend.hardware, Backend.permissions)
    }
    #expect(throws: Never.self) { try issuer.orderFloor(for: backend.hardware) }
  }

  @Test("the factory secret of other hardware seals nothing")
  func secretOfOther() throws {
    let backend = try Backend(drawn: Self.drawn, features: Backend.withSecret)
    backend.registry.secrets[backend.hardware] = try factory(Self.drawn, of: .random())
    #expect(throws: BackendError.refused(.notForThisHardware("factory secret"))) {
      try backend.issuer.issue(to: backend.app(), for: backend.hardware, Backend.permissions)
    }
  }

  @Test("hardware with a factory secret gets no literal token, whatever its registration says")
  func literal() throws {
    let backend = try Backend(literal: true, drawn: Self.drawn, features: Backend.withSecret)
    backend.registry.secrets[backend.hardware] = try factory(Self.drawn, of: backend.hardware)
    #expect(throws: BackendError.literalRefused(backend.hardware)) {
      try backend.issuer.issue(
        to: backend.app(), for: backend.hardware, Backend.permissions, form: .literal)
    }
  }

  /// A backend that has issued a token of suite two.
  private func issued() throws -> Backend {
    let backend = try Backend(drawn: Self.drawn, features: Backend.withSecret)
    backend.registry.secrets[backend.hardware] = try factory(Self.drawn, of: backend.hardware)
    _ = try backend.issuer.issue(to: backend.app(), for: backend.hardware, Backend.permissions)
    return backend
  }

  @Test(
    "downgrade: a registration that lost its features gets no token of suite one",
    arguments: [[], [.tokenVersionTwo]] as [HardwareFeatures])
  func downgrade(_ features: HardwareFeatures) throws {
    let backend = try issued()
    let id = backend.hardware
    backend.registry.all[id]?.features = features
    for generation: Int64 in [3, 4] {
      #expect(throws: BackendError.downgraded(id)) {
        try backend.issuer.issue(
          to: backend.app(generation: generation), for: id, Backend.permissions)
      }
    }
    // Orders have no suite.
    _ = try backend.issuer.orderRevocation(of: backend.app().instance, through: 3, at: id)
    backend.registry.all[id]?.features = Backend.withSecret
    _ = try backend.issuer.issue(to: backend.app(generation: 4), for: id, Backend.permissions)
  }

  @Test("the ledger refuses a downgrade for every app of the hardware, also after a restart")
  func ledger() throws {
    func pair(_ instance: UInt8, _ hardware: UInt8) throws -> IssuePair {
      try IssuePair(
        InstanceID([UInt8](repeating: instance, count: 16)),
        at: HardwareID([UInt8](repeating: hardware, count: 16)))
    }
    let folder = ModelFolder()
    let running = try IssueLedgerFile(folder)
    try running.noteIssue(of: 1, base: 1, to: pair(1, 8), by: .one, at: 1)
    try IssueLedgerFile(folder).noteIssue(of: 1, base: 1, to: pair(1, 8), by: .two, at: 1)
    try running.noteIssue(of: 1, base: 1, to: pair(1, 9), by: .one, at: 1)
    for ledger in [running, try IssueLedgerFile(folder)] {
      for instance: UInt8 in [1, 2] {
        #expect(throws: BackendError.downgraded(try pair(instance, 8).hardware)) {
          try ledger.noteIssue(of: 9, base: 9, to: pair(instance, 8), by: .one, at: 2)
        }
      }
      try ledger.noteIssue(of: 1, base: 1, to: pair(2, 8), by: .two, at: 2)
      try ledger.noteIssue(of: 1, base: 1, to: pair(2, 9), by: .one, at: 2)
    }
  }

  @Test("a power cut before any call forgets no suite of a token that was handed out")
  func powerCut() throws {
    let pair = try IssuePair(
      InstanceID([UInt8](repeating: 1, count: 16)), at: HardwareID([UInt8](repeating: 8, count: 16))
    )
    for cut in 0..<24 {
      let folder = ModelFolder(.init(cut: cut))
      let isPromised =
        (try? IssueLedgerFile(folder).noteIssue(of: 1, base: 1, to: pair, by: .two, at: 1)) != nil
      for remains in folder.afterPowerCut() where isPromised {
        let ledger = try IssueLedgerFile(ModelFolder(holding: remains))
        #expect(throws: BackendError.downgraded(pair.hardware)) {
          try ledger.noteIssue(of: 1, base: 1, to: pair, by: .one, at: 2)
        }
      }
    }
  }

  @Test("an app gets the same token from the protected API, and 503 where the backend cannot seal")
  func unlockGrant() throws {
    let backend = try issued()
    let token = try backend.sealed(backend.claims())
    func ask() throws -> UnlockGrant.Answer {
      UnlockGrant(
        try backend.verifier(), backend.issuer, authorization: { _ in UnlockGrant.User("ada") },
        permit: { _ in Backend.permissions }
      ).answer(
        .init(
          method: "POST", query: ["hardware": backend.hardware.description],
          headers: ["proof-token": token]))
    }
    let answer = try ask()
    #expect(answer.status == 200)
    #expect(try backend.keys.open(MeasurementToken(answer.body)).version == .two)
    backend.registry.secrets = [:]
    #expect(try ask().status == 503)
    backend.registry.all[backend.hardware]?.features = []
    let refused = try ask()
    #expect(refused.status == 503 && refused.body == Array("unavailable\n".utf8))
  }
}
