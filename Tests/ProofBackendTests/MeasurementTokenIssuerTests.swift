import DurableFiles
import FolderModel
@testable import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@Suite("MeasurementTokenIssuer")
struct MeasurementTokenIssuerTests {
  @Test("the hardware opens the token and finds what the backend permitted")
  func opens() throws {
    let backend = try Backend()
    let token = try backend.issuer.issue(
      to: backend.app(), for: backend.hardware, Backend.permissions)
    let grant = try backend.keys.open(token)
    #expect(grant.instance.bytes == Backend.instanceBytes)
    #expect(grant.hardware == backend.hardware)
    #expect(grant.integrityClasses.rawValue == 3)
    #expect(grant.deviceClasses.rawValue == 1)
    #expect(grant.attempts == 4)
    #expect(grant.uses == .limited(9))
    #expect(grant.generation == 3)
    #expect(grant.issued == UInt64(Backend.now))
    #expect(grant.notAfter == UInt64(Backend.now) + 60)
    #expect(grant.secrets.form == .diversified)
    let expected = backend.measurement.secrets(for: backend.hardware, with: backend.proofKey)
    for part in HardwareSecrets.Part.allCases {
      let mine = grant.secrets.withBytes(of: part) { SecretBytes(copying: $0) }
      let theirs = expected.withBytes(of: part) { SecretBytes(copying: $0) }
      let isSame = mine.matches(theirs)
      #expect(isSame)
    }
  }

  @Test("hardware that is unknown, revoked or of the other mode gets nothing")
  func hardware() throws {
    let backend = try Backend()
    let app = try backend.app()
    let stranger = HardwareID.random()
    #expect(throws: BackendError.unknownHardware(stranger)) {
      try backend.issuer.issue(to: app, for: stranger, Backend.permissions)
    }
    backend.registry.all[backend.hardware]?.isRevoked = true
    #expect(throws: BackendError.revokedHardware(backend.hardware)) {
      try backend.issuer.issue(to: app, for: backend.hardware, Backend.permissions)
    }
    let bench = try Backend(mode: .development)
    #expect(throws: BackendError.otherMode(app: .production, hardware: .development)) {
      try bench.issuer.issue(to: bench.app(), for: bench.hardware, Backend.permissions)
    }
  }

  @Test("the literal form is issued where it is asked for and registered by name, only")
  func literal() throws {
    let strict = try Backend()
    #expect(throws: BackendError.literalRefused(strict.hardware)) {
      try strict.issuer.issue(
        to: strict.app(), for: strict.hardware, Backend.permissions, form: .literal)
    }
    let lenient = try Backend(literal: true)
    let token = try lenient.issuer.issue(
      to: lenient.app(), for: lenient.hardware, Backend.permissions, form: .literal)
    let grant = try lenient.keys.open(token)
    #expect(grant.secrets.form == .literal)
    let key = grant.secrets.withBytes(of: .integrityKey) { SecretBytes(copying: $0) }
    let isProofKey = key.matches(SecretBytes(copying: [UInt8](1...16).span))
    #expect(isProofKey)
    let plain = try lenient.issuer.issue(
      to: lenient.app(), for: lenient.hardware, Backend.permissions)
    #expect(try lenient.keys.open(plain).secrets.form == .diversified)
  }

  @Test("a generation never goes back, for each app and piece of hardware")
  func generations() throws {
    let backend = try Backend()
    let issuer = backend.issuer
    let id = backend.hardware
    for generation: Int64 in [3, 3, 5] {
      _ = try issuer.issue(to: backend.app(generation: generation), for: id, Backend.permissions)
    }
    #expect(throws: BackendError.superseded(issued: 5, offered: 4)) {
      try issuer.issue(to: backend.app(generation: 4), for: id, Backend.permissions)
    }
  }

  @Test("what is revoked is not issued again, and the hardware believes the order")
  func revocation() throws {
    let backend = try Backend()
    let issuer = backend.issuer
    let id = backend.hardware
    let app = try backend.app(generation: 3)
    let order = try issuer.orderRevocation(of: app.instance, through: 3, at: id)
    #expect(try backend.keys.open(order).action == .revoke(app.instance, through: 3, id))
    #expect(throws: BackendError.revokedInstance(app.instance, through: 3)) {
      try issuer.issue(to: app, for: id, Backend.permissions)
    }
    _ = try issuer.issue(to: backend.app(generation: 4), for: id, Backend.permissions)
    _ = try issuer.orderRevocation(of: app.instance, at: id)
    #expect(throws: BackendError.revokedInstance(app.instance, through: .max)) {
      try issuer.issue(to: backend.app(generation: 4_294_967_294), for: id, Backend.permissions)
    }
    #expect(try backend.keys.open(issuer.orderFloor(for: id)).action == .floor(id))
    #expect(try backend.keys.open(issuer.orderEpoch()).action == .epoch(nil))
  }

  @Test("permissions out of range are refused and leave no trace")
  func permissions() throws {
    let backend = try Backend()
    let wrong = GrantPermissions(
      CommandClasses(rawValue: 1), deviceClasses: CommandClasses(rawValue: 2))
    #expect(throws: BackendError.self) {
      try backend.issuer.issue(to: backend.app(generation: 9), for: backend.hardware, wrong)
    }
    _ = try backend.issuer.issue(to: backend.app(), for: backend.hardware, Backend.permissions)
  }
}

@Suite("IssueLedgerFile")
struct IssueLedgerFileTests {
  private let name = IssueLedgerFile.fileName

  private func pair(_ number: UInt8 = 1) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: number, count: 16)),
      at: HardwareID([UInt8](repeating: 9, count: 16)))
  }

  @Test("a power cut before any call loses nothing that was promised")
  func powerCut() throws {
    let start = ModelFolder()
    do {
      let ledger = try IssueLedgerFile(start)
      try ledger.noteIssue(of: 5, to: pair(), at: 1)
    }
    let before = start.contents
    for cut in 0..<12 {
      let folder = ModelFolder(.init(cut: cut), holding: before)
      var promised: UInt32 = 5
      if let ledger = try? IssueLedgerFile(folder) {
        if (try? ledger.noteIssue(of: 6, to: pair(), at: 2)) != nil { promised = 6 }
        if promised == 6, (try? ledger.noteIssue(of: 7, to: pair(), at: 3)) != nil { promised = 7 }
      }
      for remains in folder.afterPowerCut() {
        let ledger = try IssueLedgerFile(ModelFolder(holding: remains))
        #expect(throws: BackendError.self) {
          try ledger.noteIssue(of: promised - 1, to: pair(), at: 4)
        }
        try ledger.noteIssue(of: 7, to: pair(), at: 4)
        try ledger.noteIssue(of: 8, to: pair(), at: 4)
      }
    }
  }

  @Test("after a failed write the ledger goes on, and nothing of it stays", arguments: 0..<9)
  func failing(call: Int) throws {
    let folder = ModelFolder(.init(failing: (call, 28), writeMax: 10))
    guard let ledger = try? IssueLedgerFile(folder) else { return }
    let first = (try? ledger.noteIssue(of: 1, to: pair(), at: 1)) != nil
    folder.mend()
    try ledger.noteIssue(of: 2, to: pair(), at: 2)
    let count = (folder.contents[name]?.count ?? 0)
    #expect(count.isMultiple(of: 64))
    #expect(count >= (first ? 128 : 64))
    #expect(throws: BackendError.superseded(issued: 2, offered: 1)) {
      try IssueLedgerFile(folder).noteIssue(of: 1, to: pair(), at: 3)
    }
  }

  @Test("damage anywhere but in the last record stops the ledger; the last one is cut off")
  func damage() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    for number in UInt8(1)...3 { try ledger.noteIssue(of: 1, to: pair(number), at: 1) }
    let bytes = try #require(folder.contents[name])
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      let damaged = ModelFolder(holding: [name: changed])
      if index < 128 {
        #expect(throws: BackendError.self) { try IssueLedgerFile(damaged) }
        #expect(damaged.contents == [name: changed])
      } else {
        _ = try IssueLedgerFile(damaged)
        #expect(damaged.contents == [name: Array(bytes.prefix(128))])
      }
    }
    for count in bytes.indices {
      let cut = ModelFolder(holding: [name: Array(bytes.prefix(count))])
      _ = try IssueLedgerFile(cut)
      #expect(cut.contents[name]?.count == count / 64 * 64)
    }
  }
}
