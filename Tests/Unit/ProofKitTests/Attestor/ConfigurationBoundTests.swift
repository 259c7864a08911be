// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Configurations at their bounds")
struct ConfigurationBoundTests {
  private let service = InProcessService()

  /// A configuration whose claims have so many bytes.
  private func configuration(claims count: Int) throws -> String {
    let least = service.configuration(claims: ["pad": "\"\""])
    let claims = try #require(Base64.decode(String(least.split(separator: ".")[1]), .url))
    let pad = String(repeating: "x", count: count - claims.count)
    return service.configuration(claims: ["pad": "\"\(pad)\""])
  }

  @Test("a configuration of 65,536 bytes is read, and a longer one is not")
  func longest() throws {
    let longest = try configuration(claims: 49_071)
    #expect(longest.utf8.count == 65_536)
    #expect(try AccountConfiguration(longest).text == longest)
    let longer = try configuration(claims: 49_072)
    #expect(longer.utf8.count == 65_538)
    let error = SetupError.malformedConfiguration(
      reason: "65538 bytes, at most 65,536 are allowed")
    #expect(throws: error) { _ = try AccountConfiguration(longer) }
  }

  @Test("eight handovers are followed, and nine are refused")
  func handovers() throws {
    for count in [8, 9] {
      let keys = (0..<count).map { _ in IssuerKey.random() } + [service.issuer]
      let chain = zip(keys, keys.dropFirst()).map { JSONText.quote(handover($0, to: $1)) }
      let text = service.configuration(claims: ["hnd": "[\(chain.joined(separator: ","))]"])
      let trusted = AccountConfiguration.fingerprint(of: keys[0].publicKey)
      if count == 8 {
        #expect(try AccountConfiguration(text, signedBy: trusted).text == text)
      } else {
        let error = SetupError.malformedConfiguration(
          reason: "claim hnd has 9 handovers, 8 are allowed")
        #expect(throws: error) { _ = try AccountConfiguration(text, signedBy: trusted) }
      }
    }
  }

  @Test("an update of the same serial is taken, an older one is refused with both serials")
  func serials() throws {
    let initial = try InitialConfiguration(service.shortForm)
    let held = try AccountConfiguration(service.configuration(serial: 5))
    let same = service.configuration(serial: 5, claims: ["iat": "1900000001"])
    #expect(try initial.update(same, held: held).text == same)
    #expect(throws: SetupError.configurationTooOld(serial: 4, held: 5)) {
      try initial.update(service.configuration(serial: 4), held: held)
    }
    let other = InProcessService("other", issuer: service.issuer)
    #expect(throws: SetupError.configurationOfAnotherAccount(expected: "acme", actual: "other")) {
      try initial.update(other.configuration(), held: nil)
    }
  }

  @Test("an update that the app kept counts where its serial is the built-in one's, also 0")
  func given() throws {
    let same = service.configuration(serial: 5, claims: ["iat": "1900000007"])
    let zero = service.configuration(serial: 0)
    for (built, update) in [(service.configuration(serial: 5), same), (service.shortForm, zero)] {
      let attestor = Attestor(observer: Scene(), over: service)
      try attestor.initializeAndWait(built, updates: .given(update))
      #expect(attestor.accountConfiguration == update)
    }
  }

  @Test("of two configurations that the service sent with one serial, the first is kept")
  func adopted() throws {
    let first = try AccountConfiguration(service.configuration(serial: 7))
    let same = try AccountConfiguration(
      service.configuration(serial: 7, claims: ["iat": "1900000009"]))
    var state = AttestorState()
    state.session = AttestorState.Session(
      initial: try InitialConfiguration(service.shortForm), comment: nil, store: nil, number: 1,
      configuration: nil)
    for _ in 1...2 {
      state.adopt(first)
      state.adopt(same)
      #expect(state.session?.configuration?.text == first.text && first.text != same.text)
    }
  }

  @Test("a region's name of 32 characters is one, and an IPv6 address has two colons at least")
  func names() throws {
    let name = String(repeating: "r", count: 32)
    #expect(try ServiceRegion(name).name == name)
    for (address, isTaken) in [("[a:1]", false), ("[a::]", true), ("[a:1:2]", true)] {
      #expect((ServiceAddress(url: "https://\(address)") != nil) == isTaken, "\(address)")
    }
  }

  @Test("control characters of a line are shown as question marks, all others as they are")
  func line() {
    #expect(
      Observation.line("\u{0}\u{1F}\u{20}!~\u{7E}\u{7F}\u{80}\u{E4}") == "?? !~~?\u{80}\u{E4}")
    // A character of two bytes that would be the 1,025th is left out whole.
    let text = String(repeating: "a", count: 1_023)
    #expect(Observation.line(text + "bc") == text + "b")
    #expect(Observation.line(text + "\u{E4}") == text)
  }
}

@Suite("Pins at their serials")
struct PinSerialTests {
  @Test("pins replace older ones below the forced serial, if they are newer")
  func replaced() {
    func pins(_ serial: UInt32, forced: UInt32 = 0) -> Pins {
      var pins = Pins([:])
      #expect(pins.serial == 0 && pins.forcedSerial == 0)
      (pins.serial, pins.forcedSerial) = (serial, forced)
      return pins
    }
    let rows: [(older: UInt32, forced: UInt32, serial: UInt32, Bool)] = [
      (1, 2, 2, true), (1, 3, 2, true), (1, 2, 1, false), (2, 2, 3, false), (3, 2, 4, false),
      (3, 4, 2, false), (0, 1, 1, true), (0, 0, 1, false),
    ]
    for (older, forced, serial, must) in rows {
      #expect(pins(serial, forced: forced).mustReplace(pins(older)) == must, "\(older) \(serial)")
    }
  }

  @Test("a fetch that fails, and an app without a configuration, force no pins")
  func unforced() throws {
    #expect(AttestationExchange.Outcome(FetchResult(.noNetwork)).forcedPinsSerial == 0)
    let service = InProcessService()
    service.set { $0.failure = .unreachable("x") }
    for text in [service.shortForm, service.configuration()] {
      let attestor = Attestor(observer: Scene(), over: service, clock: ManualClock().clock)
      try attestor.initializeAndWait(text)
      #expect(attestor.pins.forcedSerial == 0)
      #expect(attestor.fetchTokenAndWait(for: "api.example.com").status == .noNetwork)
      #expect(attestor.pins.forcedSerial == 0)
      #expect(attestor.pins.serial == (text.hasPrefix("#") ? 0 : 1))
    }
  }
}

@Suite("Files of configurations")
final class ConfigurationFileTests {
  private let folder = "/var/tmp/proofkit-configurations-\(UInt64.random(in: 1 ... .max))"
  private let service = InProcessService()
  private var store: ConfigurationStore { ConfigurationStore(folder: folder) }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func stored() throws -> String? {
    let initial = try InitialConfiguration(service.shortForm)
    if case .configuration(let stored) = try store.read(initial) { return stored.text }
    return nil
  }

  @Test("have names that begin the digest of the account")
  func names() {
    let digest = "822b33ad87c148a0"
    #expect(ConfigurationStore.fileName(of: "acme") == "configuration-" + digest)
    #expect(SecureStringStore.fileName(of: "acme") == "strings-" + digest)
  }

  @Test("are replaced by a configuration of the same serial, and not by an older one")
  func replaced() throws {
    let initial = try InitialConfiguration(service.shortForm)
    let second = service.configuration(serial: 7, claims: ["iat": "1900000001"])
    try store.write(service.configuration(serial: 7), serial: 7, of: initial)
    try store.write(second, serial: 7, of: initial)
    #expect(try stored() == second)
    try store.write(service.configuration(serial: 6), serial: 6, of: initial)
    #expect(try stored() == second)
  }

  @Test("are left as they are if they hold another short form, and set aside if they are damaged")
  func others() throws {
    let initial = try InitialConfiguration(service.shortForm)
    let path = folder + "/" + ConfigurationStore.fileName(of: "acme")
    var asideCount = 0
    for (text, isAside) in [
      (InProcessService().shortForm, false), ("#nonsense", true),
      (InProcessService().configuration(), true), (InProcessService("other").shortForm, false),
    ] {
      try store.write(service.shortForm, serial: 0, of: initial)
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      #expect(try stored() == nil)
      asideCount += isAside ? 1 : 0
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(files.count { $0.contains(".damaged-") } == asideCount, "\(text.prefix(20))")
      #expect(FileManager.default.fileExists(atPath: path) != isAside)
    }
  }

  @Test("keep what another process stored while the first start asked")
  func meanwhile() throws {
    let writing = CoreLock<(@Sendable () -> Void)?>(nil)
    let service = InProcessService(issuer: service.issuer) { _, _ in writing.withLock { $0 }?() }
    let (store, text) = (store, service.configuration(serial: 1))
    let initial = try InitialConfiguration(service.shortForm)
    writing.withLock { $0 = { try? store.write(text, serial: 1, of: initial) } }
    service.set { $0.failure = .unreachable("x") }
    let attestor = Attestor(observer: Scene(), over: service)
    try attestor.initializeAndWait(service.shortForm, updates: .automatic(store))
    #expect(service.count("config") == 1)
    #expect(try stored() == text)
  }
}
