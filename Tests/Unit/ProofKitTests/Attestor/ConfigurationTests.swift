// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("Configuration")
struct ConfigurationTests {
  let service = InProcessService()

  @Test("a configuration is read whole")
  func whole() throws {
    service.set {
      $0.pins = ["a.example": [pin(1), pin(2)], "*": [pin(3)], "b.example": []]
      $0.forced = 7
    }
    let text = service.configuration(
      serial: 8,
      claims: ["dom": #"{"a":"token","b":"measurement","c":"none","d":"new kind"}"#, "new": "[]"])
    let configuration = try AccountConfiguration(text)
    #expect(configuration.account == "acme" && configuration.serial == 8)
    #expect(configuration.issued == 1_900_000_000 && configuration.forcedPinsSerial == 7)
    #expect(configuration.serviceURL == "https://attest.example.com")
    #expect(configuration.servicePins == [pin(9)])
    #expect(
      configuration.domains == [
        "a": .token, "b": .measurement, "c": AccountConfiguration.Domain.none,
      ])
    #expect(configuration.pins.byHost["b.example"] == [])
    #expect(configuration.text == text && configuration.key == service.issuer.publicKey)
  }

  @Test(
    "a claim that is missing, or not of its type, is refused by name",
    arguments: [
      ("acc", "7"), ("acc", #""a b""#), ("acc", #""..""#), ("ser", "-1"), ("ser", "4294967296"),
      ("ser", "1.5"),
      ("iat", #""now""#), ("key", #""AAAA""#), ("url", #""ftp://x""#), ("url", #""https://""#),
      ("url", #""https://x/?a""#), ("url", #""https://u@x""#), ("spk", #"["AAAA"]"#),
      ("spk", "[7]"), ("pin", "[]"),
      ("pin", #"{"a":["AAAA"]}"#), ("pin", #"{"a":7}"#), ("dom", "7"), ("fps", "null"),
    ])
  func claims(name: String, value: String) {
    let error = #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(service.configuration(claims: [name: value]))
    }
    #expect(error.map { "\($0)".contains("claim \(name)") } == true)
  }

  @Test("another algorithm, another key, another signer are not trusted")
  func untrusted() throws {
    let fingerprint = AccountConfiguration.fingerprint(of: service.issuer.publicKey)
    for header in [
      #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"eddsa"}"#, #"{}"#,
      #"{"alg":"EdDSA","crit":["x"]}"#,
    ] {
      let error = #expect(throws: SetupError.self) {
        _ = try AccountConfiguration(service.configuration(header: header))
      }
      guard case .untrustedConfiguration = error else {
        Issue.record("\(header): \(String(describing: error))")
        continue
      }
    }
    let stranger = InProcessService()
    #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(service.configuration(signer: stranger.issuer))
    }
    #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(stranger.configuration(), signedBy: fingerprint)
    }
    _ = try AccountConfiguration(service.configuration(), signedBy: fingerprint)
  }

  @Test("no changed, missing or added character of a configuration is accepted")
  func mutations() throws {
    let text = service.configuration()
    let bytes = Array(text.utf8)
    let fingerprint = AccountConfiguration.fingerprint(of: service.issuer.publicKey)
    var count = 0
    func refuse(_ mutant: [UInt8]) {
      count += 1
      guard mutant != bytes, let text = String(validating: mutant, as: UTF8.self) else { return }
      if (try? AccountConfiguration(text, signedBy: fingerprint)) != nil {
        Issue.record("accepted: \(text)")
      }
    }
    for index in bytes.indices {
      var mutant = bytes
      for bit in [0x01, 0x02, 0x20, 0x40] as [UInt8] {
        mutant[index] = bytes[index] ^ bit
        refuse(mutant)
      }
      refuse(Array(bytes[..<index]))
      refuse(Array(bytes[..<index] + bytes[(index + 1)...]))
      refuse(Array(bytes[..<index] + [UInt8(ascii: "A")] + bytes[index...]))
    }
    refuse(bytes + [UInt8(ascii: "=")])
    refuse(bytes + [UInt8(ascii: "\n")])
    #expect(count == 7 * bytes.count + 2)
  }

  @Test("a configuration over 64 KiB is refused before it is looked at")
  func long() {
    let long = "a.b." + String(repeating: "c", count: 65_536)
    let error = SetupError.malformedConfiguration(
      reason: "65540 bytes, at most 65,536 are allowed")
    #expect(throws: error) { _ = try AccountConfiguration(long) }
  }

  @Test("the short form has an account, a host, perhaps a port, and a fingerprint")
  func shortForm() throws {
    let digest = Base64.encode([UInt8](repeating: 5, count: 32))
    let plain = try InitialConfiguration("#acme@attest.example.com#\(digest)")
    #expect(plain.serviceURL == "https://attest.example.com" && plain.account == "acme")
    #expect(plain.fingerprint.bytes == [UInt8](repeating: 5, count: 32))
    let port = try InitialConfiguration("#a-1_b.c@127.0.0.1:8443#\(digest)")
    #expect(port.serviceURL == "https://127.0.0.1:8443" && port.account == "a-1_b.c")
  }

  @Test("a host with pins, one without, and one that is not listed are three cases")
  func rules() {
    let roots = Pins(["a.example": [pin(1)], "b.example": [], "*": [pin(3)]])
    #expect(roots.rule(for: "a.example") == .keys([pin(1)]))
    #expect(roots.rule(for: "A.Example") == .keys([pin(1)]))
    // The same host by the rules of names: letters of either case, and the root's dot at the end.
    #expect(roots.rule(for: "a.example.") == .keys([pin(1)]))
    #expect(roots.rule(for: "*.") == .unknown)
    #expect(Pins(["A.Example": [pin(1)]]).rule(for: "a.example") == .keys([pin(1)]))
    #expect(
      Set(Pins(["A.Example": [pin(1)], "a.example": [pin(2)]]).byHost["a.example"] ?? [])
        == [pin(1), pin(2)])
    #expect(roots.rule(for: "b.example") == .trustRoots([pin(3)]))
    #expect(roots.rule(for: "c.example") == .unknown)
    #expect(roots.rule(for: "*") == .unknown)
    #expect(roots.rule(for: "c.example", unlisted: .trustRoots) == .trustRoots([pin(3)]))
    #expect(roots.rule(for: "a.example", unlisted: .trustRoots) == .keys([pin(1)]))
    #expect(roots.rule(for: "*", unlisted: .trustRoots) == .unknown)
    let none = Pins(["b.example": []])
    #expect(none.rule(for: "c.example", unlisted: .trustRoots) == .unknown)
    #expect(none.rule(for: "b.example", unlisted: .trustRoots) == .unpinned)
    #expect(none.rule(for: "b.example") == .unpinned)
    #expect(none.rule(for: "c.example") == .unknown)
    #expect(Pins(["b.example": [], "*": []]).rule(for: "b.example") == .unpinned)
  }

  @Test("pins in JSON are an object of arrays, hosts in order")
  func json() throws {
    #expect(Pins([:]).json == "{}")
    let pins = Pins(["b\"": [], "a": ["x", "y"], "*": ["z"]])
    #expect(pins.json == #"{"*":["z"],"a":["x","y"],"b\"":[]}"#)
    #expect(try JSONText.parse(Array(pins.json.utf8)).members?.count == 3)
  }
}
