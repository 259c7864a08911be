// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
import ProofModel
import Testing

@testable import ProofKit

/// A folder, gone when the test is over.
private final class Folder {
  let path = "/var/tmp/proofkit-\(UUID().uuidString)"
  var store: ConfigurationStore { ConfigurationStore(folder: path) }
  init() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
  var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
  }
  /// All configurations; the lock's file is not among them.
  var configurations: [String] { names.filter { $0.hasPrefix("configuration-") } }
  func file(of account: String) -> String {
    path + "/" + ConfigurationStore.fileName(of: account)
  }
}

@Suite("Initialisation")
struct InitializationTests {
  let api = "api.example.com"

  @Test("the same once more is accepted, anything else only with a comment that begins with reinit")
  func rules() throws {
    let stage = try Stage(isInitialized: false)
    let attestor = stage.attestor
    let config = stage.service.configuration()
    let other = InProcessService("other").configuration()
    try attestor.initializeAndWait(config, comment: "options:x")
    try attestor.initializeAndWait(config, comment: "options:x")
    let already = SetupError.alreadyInitialized(account: "acme")
    #expect(throws: already) { try attestor.initializeAndWait(config) }
    #expect(throws: already) { try attestor.initializeAndWait(other, comment: "options:x") }
    #expect(throws: already) { try attestor.initializeAndWait(other, comment: "Reinit") }
    try attestor.initializeAndWait(other, comment: "reinit: other account")
    #expect(attestor.accountConfiguration == other)
    #expect(throws: SetupError.alreadyInitialized(account: "other")) {
      try attestor.initializeAndWait(config, comment: "options:x")
    }
    try attestor.initializeAndWait(config, comment: "reinit")
    try attestor.initializeAndWait(config, comment: "reinit")
  }

  @Test("a reinitialisation forgets the tokens of before")
  func forgets() throws {
    let stage = try Stage()
    let first = stage.attestor.fetchTokenAndWait(for: api)
    try stage.attestor.initializeAndWait(stage.service.configuration(), comment: "reinit")
    #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
  }

  @Test(
    "an unreadable configuration changes nothing",
    arguments: [
      "", "#", "#acme", "acme@host#x", "#acme@host#", "#@host#AAAA", "#ac/me@host#AAAA",
      "#acme@#AAAA", "#acme@host:0#AAAA", "#acme@host/path#AAAA", "#acme@host#AAAA", "a.b", "a.b.c",
    ])
  func malformed(text: String) throws {
    let stage = try Stage(isInitialized: false)
    #expect(throws: SetupError.self) { try stage.attestor.initializeAndWait(text) }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .notInitialized)
    let initialized = try Stage()
    #expect(throws: SetupError.self) {
      try initialized.attestor.initializeAndWait(text, comment: "reinit")
    }
    #expect(initialized.attestor.fetchTokenAndWait(for: api).status == .success)
  }

  @Test(
    "with the short form alone the first fetch gets a configuration, and pins the service by it")
  func shortForm() async throws {
    let stage = try Stage(isInitialized: false)
    stage.service.set { $0.pins = ["api.example.com": [pin(1)]] }
    try await stage.attestor.initialize(stage.service.shortForm)
    #expect(stage.service.state.withLock { $0.counts.isEmpty })
    #expect(stage.attestor.pins.byHost.isEmpty)
    let result = try await stage.attestor.fetchToken(for: api)
    #expect(result.status == .success)
    #expect(stage.attestor.pins.byHost == ["api.example.com": [pin(1)]])
    // Only the request for the configuration itself goes unpinned.
    #expect(stage.service.state.withLock { $0.pinsAsked } == [[], [pin(9)], [pin(9)]])
  }

  @Test("a configuration of another key is refused, and nothing is reported to its service")
  func wrongFingerprint() throws {
    let stage = try Stage(isInitialized: false)
    try stage.attestor.initializeAndWait(InProcessService().shortForm)
    let result = stage.attestor.fetchTokenAndWait(for: api)
    #expect(result.status == .noService)
    #expect(stage.service.count("challenge") == 0 && stage.service.count("report") == 0)
  }

  @Test("the very first start asks for a configuration and keeps it; the next one does not ask")
  func automatic() throws {
    let folder = try Folder()
    let service = InProcessService()
    service.set { $0.pins = ["api.example.com": [pin(1)]] }
    for start in 1...2 {
      let attestor = Attestor(observer: Scene(), over: service)
      try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
      #expect(attestor.pins.byHost == ["api.example.com": [pin(1)]])
      #expect(service.count("config") == 1, "start \(start)")
    }
    let name = try #require(folder.configurations.first)
    #expect(folder.names == [name, "configuration.lock"])
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("the very first start goes on when no service answers, and gives its request up")
  func firstStartOffline() throws {
    let folder = try Folder()
    let isGivenUp = Handover<Bool>()
    let service = InProcessService { _, cancellation in
      let end = Handover<Bool>()
      cancellation.withHandler({ end.give(true) }, { isGivenUp.give(end.wait()) })
    }
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    #expect(isGivenUp.wait())
    #expect(attestor.pins.byHost.isEmpty)
    // The second start is not the first, though there is no configuration yet.
    let next = Attestor(observer: Scene(), over: service)
    try next.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    #expect(service.count("config") == 1)
  }

  @Test("a first start is one for each account, and for a full configuration too")
  func firstStarts() throws {
    let folder = try Folder()
    for service in [InProcessService(), InProcessService("other")] {
      for _ in 1...2 {
        let attestor = Attestor(observer: Scene(), over: service)
        try attestor.initializeAndWait(service.configuration(), updates: .automatic(folder.store))
      }
      #expect(service.count("config") == 1)
    }
    #expect(folder.configurations.count == 2)
  }

  @Test("a configuration that comes with a token is kept for the next start")
  func updateKept() throws {
    let folder = try Folder()
    let service = InProcessService()
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    service.set {
      $0.serial = 2
      $0.pins = ["api.example.com": [pin(2)]]
    }
    #expect(attestor.fetchTokenAndWait(for: api).status == .success)
    let next = Attestor(observer: Scene(), over: service)
    try next.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    #expect(next.pins.byHost == ["api.example.com": [pin(2)]])
    #expect(service.count("config") == 2)
  }

  @Test("a damaged file is kept aside under a new name each time, and the start goes on")
  func damaged() throws {
    let folder = try Folder()
    let service = InProcessService()
    for start in 1...3 {
      let attestor = Attestor(observer: Scene(), over: service)
      try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
      #expect(attestor.fetchTokenAndWait(for: api).status == .success)
      let path = folder.file(of: "acme")
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes[bytes.count / start - 1] ^= 1
      try bytes.write(to: URL(fileURLWithPath: path))
    }
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    let name = ConfigurationStore.fileName(of: "acme")
    #expect(folder.configurations == [name] + (1...3).map { "\(name).damaged-\($0)" })
  }

  @Test("a file that is damaged while the app runs is kept aside too when a configuration comes")
  func damagedMeanwhile() throws {
    let folder = try Folder()
    let service = InProcessService()
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    let damage = Data("damage".utf8)
    let path = folder.file(of: "acme")
    try damage.write(to: URL(fileURLWithPath: path))
    service.set { $0.serial = 2 }
    #expect(attestor.fetchTokenAndWait(for: api).status == .success)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged-1")) == damage)
    let next = Attestor(observer: Scene(), over: service)
    try next.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
    #expect(service.count("config") == 2)
    #expect(folder.configurations.count == 2)
  }

  @Test("while another process has the lock, the app goes on without keeping or setting aside")
  func lockHeld() throws {
    let folder = try Folder()
    let service = InProcessService()
    let damage = Data("damage".utf8)
    try damage.write(to: URL(fileURLWithPath: folder.file(of: "acme")))
    let lock = try FolderLock(folder.path + "/configuration.lock")
    try withExtendedLifetime(lock) {
      let attestor = Attestor(observer: Scene(), over: service)
      try attestor.initializeAndWait(service.shortForm, updates: .automatic(folder.store))
      #expect(attestor.fetchTokenAndWait(for: api).status == .success)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file(of: "acme"))) == damage)
    #expect(folder.configurations.count == 1)
  }

  @Test("a configuration in the folder is never replaced by an older one")
  func olderOnDisk() throws {
    let folder = try Folder()
    let service = InProcessService()
    let initial = try InitialConfiguration(service.shortForm)
    for serial in [7, 6, 5] as [UInt32] {
      try folder.store.write(service.configuration(serial: serial), serial: serial, of: initial)
    }
    guard case .configuration(let stored) = try folder.store.read(initial) else {
      Issue.record("no configuration")
      return
    }
    #expect(stored.serial == 7)
  }

  @Test("a store without a folder is an error that names it")
  func noFolder() throws {
    let stage = try Stage(isInitialized: false)
    let store = ConfigurationStore(folder: "/dev/null/folder")
    let error = #expect(throws: SetupError.self) {
      try stage.attestor.initializeAndWait(stage.service.shortForm, updates: .automatic(store))
    }
    #expect("\(try #require(error))".contains("/dev/null/folder"))
  }

  @Test("an update that the app kept counts if it is newer than what the app was built with")
  func given() throws {
    let service = InProcessService()
    let built = service.configuration(serial: 5)
    for (serial, expected) in [(4, 5), (5, 5), (6, 6)] as [(UInt32, UInt32)] {
      let attestor = Attestor(observer: Scene(), over: service)
      let update = service.configuration(serial: serial)
      try attestor.initializeAndWait(built, updates: .given(update))
      let held = try AccountConfiguration(attestor.accountConfiguration)
      #expect(held.serial == expected)
    }
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .given(service.shortForm))
    let other = InProcessService("other", issuer: service.issuer)
    #expect(throws: SetupError.configurationOfAnotherAccount(expected: "acme", actual: "other")) {
      try attestor.initializeAndWait(
        built, updates: .given(other.configuration()), comment: "reinit")
    }
    #expect(throws: SetupError.self) {
      try attestor.initializeAndWait(
        built, updates: .given(InProcessService().configuration()), comment: "reinit")
    }
  }

  @Test("an older configuration is refused, wherever it comes from")
  func rollback() throws {
    let service = InProcessService()
    service.set { $0.serial = 9 }
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.configuration(serial: 5))
    let old = service.configuration(serial: 4, claims: ["pin": #"{"evil.example":[]}"#])
    service.set { $0.configurationText = old }
    let result = attestor.fetchTokenAndWait(for: api)
    #expect(result.status == .success)
    #expect(attestor.pins.byHost.isEmpty)
    let held = try AccountConfiguration(attestor.accountConfiguration)
    #expect(held.serial == 5)
  }

}
