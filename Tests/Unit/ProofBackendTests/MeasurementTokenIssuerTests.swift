// SPDX-License-Identifier: Apache-2.0

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
    #expect(grant.issued == Backend.now)
    #expect(grant.notAfter == Backend.now + 60)
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

  @Test(
    "rights that ask for a feature need hardware that is registered with it, and version two",
    arguments: [
      (GrantPermissions(CommandClasses(rawValue: 1), ratchet: .refuse), HardwareFeatures.ratchet),
      (GrantPermissions(CommandClasses(rawValue: 1), demandsSealing: true), .sealedCommands),
      (GrantPermissions(CommandClasses(rawValue: 1), permitsChannel: true), .channels),
    ])
  func features(permissions: GrantPermissions, needed: HardwareFeatures) throws {
    let others = HardwareFeatures.known.subtracting([.grants, .factorySecret]).subtracting(needed)
    let without = try Backend(features: others)
    #expect(throws: BackendError.self) {
      try without.issuer.issue(to: without.app(), for: without.hardware, permissions)
    }
    let backend = try Backend(features: needed)
    let token = try backend.issuer.issue(to: backend.app(), for: backend.hardware, permissions)
    let grant = try backend.keys.open(token)
    #expect(grant.version == .two)
    #expect(grant.ratchet == permissions.ratchet)
    #expect(grant.demandsSealing == permissions.demandsSealing)
    #expect(grant.permitsChannel == permissions.permitsChannel)
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

  @Test("a revoked instance gets no token, and the hardware obeys the order")
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
    #expect(try backend.keys.open(issuer.orderEpoch(for: id)).action == .epoch(id))
  }

  @Test("a clock that jumped since the ledger's latest record signs nothing, unless it is trusted")
  func jumpedClock() throws {
    let backend = try Backend()
    let id = backend.hardware
    let app = try backend.app()
    func issuer(_ days: UInt64, _ step: UInt64? = 90 * 86_400) -> MeasurementTokenIssuer {
      MeasurementTokenIssuer(
        backend.issuerKey, for: backend.registry, ledger: backend.ledger,
        clock: .fixed(Backend.now + Int64(days) * 86_400), clockStep: step)
    }
    // An empty ledger knows no time.
    _ = try issuer(0).issue(to: app, for: id, Backend.permissions)
    let ahead = BackendError.clockAhead(of: Backend.now, by: 91 * 86_400)
    #expect(throws: ahead) { try issuer(91).issue(to: app, for: id, Backend.permissions) }
    #expect(throws: ahead) { try issuer(91).orderEpoch(for: id) }
    #expect(throws: ahead) { try issuer(91).orderEpochs(for: id, from: 1) }
    #expect(throws: ahead) { try issuer(91).orderFloor(for: id) }
    #expect(throws: ahead) { try issuer(91).orderRevocation(of: app.instance, at: id) }
    #expect(ahead.description.contains("91 days"))
    // Nothing was noted: the revocation revokes nothing, and the time is the one before.
    #expect(try backend.ledger.latestTime() == Backend.now)
    _ = try issuer(90).orderEpoch(for: id)
    _ = try issuer(90).issue(to: app, for: id, Backend.permissions)
    _ = try issuer(180).issue(to: app, for: id, Backend.permissions)
    _ = try issuer(40_000, nil).issue(to: app, for: id, Backend.permissions)
    _ = try issuer(40_001).orderFloor(for: id)
  }

  @Test("hardware that lay in a drawer is brought up in steps, which it takes one by one")
  func steps() throws {
    let backend = try Backend()
    let id = backend.hardware
    let now = Backend.now
    let from = now - 5 * 365 * 86_400
    let times = try backend.issuer.orderEpochs(for: id, from: from).map { order in
      let opened = try backend.keys.open(order)
      #expect(opened.action == .epoch(id))
      return opened.issued
    }
    #expect(times.count == 5)
    #expect(times.last == now)
    for (before, after) in zip([from] + times, times) {
      #expect(after > before && after - before <= Order.epochStep)
    }
    #expect(try backend.issuer.orderEpochs(for: id, from: now).isEmpty)
  }

  @Test("hardware without a registration gets no orders")
  func strangers() throws {
    let issuer = try Backend().issuer
    let other = HardwareID.random()
    let unknown = BackendError.unknownHardware(other)
    #expect(throws: unknown) { try issuer.orderEpoch(for: other) }
    #expect(throws: unknown) { try issuer.orderEpochs(for: other, from: 1) }
    #expect(throws: unknown) { try issuer.orderFloor(for: other) }
    #expect(throws: unknown) { try issuer.orderRevocation(of: .random(), at: other) }
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
    for cut in 0..<40 {
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

  @Test("after a failed write the ledger goes on, and nothing of it stays", arguments: 0..<24)
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

  /// A ledger of three records: its two files.
  private func three() throws -> [String: [UInt8]] {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    for number in UInt8(1)...3 { try ledger.noteIssue(of: 1, to: pair(number), at: 1) }
    return folder.contents
  }

  private func refuses(_ contents: [String: [UInt8]]) -> Bool {
    let folder = ModelFolder(holding: contents)
    do throws(BackendError) {
      _ = try IssueLedgerFile(folder)
      return false
    } catch {
      guard case .damaged = error else { return false }
      // The folder is as it was.
      return folder.contents == contents
    }
  }

  @Test("a changed byte of any record stops the ledger, also of the last one")
  func damage() throws {
    let whole = try three()
    for file in [name, IssueLedgerFile.countName] {
      let bytes = try #require(whole[file])
      for index in bytes.indices {
        var contents = whole
        contents[file]?[index] ^= 1
        #expect(refuses(contents), "\(file), byte \(index)")
      }
    }
  }

  @Test("a ledger that lost its end stops, whether or not whole records are missing")
  func truncation() throws {
    let whole = try three()
    for file in [name, IssueLedgerFile.countName] {
      let bytes = try #require(whole[file])
      for count in bytes.indices {
        var contents = whole
        contents[file] = Array(bytes.prefix(count))
        #expect(refuses(contents), "\(file), \(count) bytes")
      }
      var contents = whole
      contents[file] = nil
      #expect(refuses(contents), "without \(file)")
    }
  }

  @Test("a revocation that was cut off or damaged is never forgotten in silence")
  func lostRevocation() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    try ledger.noteIssue(of: 1, to: pair(), at: 1)
    try ledger.noteRevocation(through: .max, of: pair(), at: 2)
    var cut = folder.contents
    cut[name]?.removeLast(64)
    var changed = folder.contents
    changed[name]?[127] ^= 1
    #expect(refuses(cut) && refuses(changed))
  }

  @Test("an uncounted record is kept if it is whole, and cut off if it is torn")
  func tornAppend() throws {
    let folder = ModelFolder(holding: try three())
    let count = try #require(folder.contents[IssueLedgerFile.countName])
    try IssueLedgerFile(folder).noteIssue(of: 8, to: pair(4), at: 2)
    let bytes = try #require(folder.contents[name])
    for length in 192...256 {
      for isTorn in [false, true] where isTorn || length < 256 {
        var left = Array(bytes.prefix(length))
        if isTorn { left += [UInt8](repeating: 0, count: 256 - length) }
        if left == bytes { continue }
        let after = ModelFolder(holding: [name: left, IssueLedgerFile.countName: count])
        let ledger = try IssueLedgerFile(after)
        #expect(after.contents[name] == Array(bytes.prefix(192)), "\(length)")
        try ledger.noteIssue(of: 7, to: pair(4), at: 3)
      }
    }
    let after = ModelFolder(holding: [name: bytes, IssueLedgerFile.countName: count])
    let ledger = try IssueLedgerFile(after)
    #expect(after.contents == folder.contents)
    #expect(throws: BackendError.superseded(issued: 8, offered: 7)) {
      try ledger.noteIssue(of: 7, to: pair(4), at: 3)
    }
  }

  @Test("more records than one beyond the counted ones stop the ledger")
  func olderCount() throws {
    let folder = ModelFolder(holding: try three())
    let count = try #require(folder.contents[IssueLedgerFile.countName])
    let ledger = try IssueLedgerFile(folder)
    for number in UInt8(4)...5 { try ledger.noteIssue(of: 1, to: pair(number), at: 2) }
    var contents = folder.contents
    contents[IssueLedgerFile.countName] = count
    #expect(refuses(contents))
  }

  @Test("a ledger of before is counted when it is opened, and from then on")
  func uncounted() throws {
    let contents = try three()
    let records = try #require(contents[name])
    var old: [UInt8] = []
    for start in stride(from: 0, to: records.count, by: 64) {
      let body = Array(records[start..<start + 48])
      let check = Digest(hashing: IssueLedgerFile.uncountedLabel + body).bytes.prefix(16)
      old += body + check
    }
    for end in [old.count, old.count - 1, old.count - 63] {
      let folder = ModelFolder(holding: [name: Array(old.prefix(end))])
      let ledger = try IssueLedgerFile(folder)
      let whole = end / 64 * 64
      #expect(folder.contents[name] == Array(old.prefix(whole)))
      try ledger.noteIssue(of: 2, to: pair(2), at: 2)
      var cut = folder.contents
      cut[name]?.removeLast(64)
      #expect(refuses(cut))
      var uncounted = folder.contents
      uncounted[IssueLedgerFile.countName] = nil
      #expect(refuses(uncounted))
    }
    var changed = old
    changed[70] ^= 1
    #expect(refuses([name: changed]))
  }
}
