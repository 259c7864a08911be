// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Keys of key sets, APIs that use them, and hardware: their names, their answers, and changes by two operators at
/// once.
@Suite struct KeySetVerbTests {
  @Test func `keys without a name are numbered from 1, and published in the order of names`() throws
  {
    let desk = try Desk()
    var names: [String] = []
    for algorithm in ["ES256", "EdDSA", "HS256"] {
      names.append(try desk.object("keyset/add", ["alg": .string(algorithm)]).text("kid") ?? "")
    }
    #expect(names == ["1", "2", "3"])
    for name in ["z", "a", "m"] {
      _ = try desk.value("keyset/add", ["alg": "ES256", "kid": .string(name)])
    }
    let published = try desk.world.objects(desk.object("keyset/jwks")["keys"])
    #expect(published.map { $0.text("kid") } == ["1", "2", "a", "m", "z"])
    #expect(throws: ServiceError.alreadyThere("key", name: "a")) {
      try desk.value("keyset/add", ["alg": "ES256", "kid": "a"])
    }
  }

  @Test func `an RSA key has the size that is asked for`() throws {
    let desk = try Desk()
    let size: JSONValue = 2_048
    _ = try desk.value("keyset/add", ["alg": "RS256", "kid": "r", "bits": size])
    let key = try desk.object("keyset/get", ["kid": "r"])
    #expect(Base64.decode(key.text("n") ?? "", .url)?.count == 256)
    #expect(throws: ServiceError.self) {
      try desk.value("keyset/add", ["alg": "RS256", "kid": "s", "bits": 2_047])
    }
    try desk.refused(
      "keyset/add", ["alg": "RSA-OAEP-256"], "alg", "RSA-OAEP-256",
      "with the public part of a key that the backend made: --public FILE")
    try desk.refused(
      "keyset/add", ["alg": "ES256", "public": "x"], "alg of a public key", "ES256",
      "ECDH-ES+A256KW, RSA-OAEP-256")
  }

  @Test func `a key that is handed out once is not written again`() throws {
    let bench = try Bench()
    for (id, algorithm) in [("h", KeyAlgorithm.hs256), ("e", .es256)] {
      try bench.management.addKey(algorithm, id: id)
    }
    let before = try bench.store.revision()
    _ = try bench.management.key("e")
    #expect(try bench.store.revision() == before)
    for _ in 0..<3 { _ = try bench.management.key("h") }
    #expect(try bench.store.revision() == before + 1)
    #expect(try bench.management.keys().map(\.isGiven) == [false, true])
  }

  @Test func `keys of each kind are shown in the encoding that is asked for`() throws {
    let desk = try Desk()
    _ = try desk.value("messagekey/change")
    for noun in ["secret", "customkey", "sealing", "messagekey"] {
      let standard = try desk.object("\(noun)/get").text("secret") ?? ""
      let url = try desk.object("\(noun)/get", ["encoding": "base64url"]).text("secret") ?? ""
      #expect(Base64.decode(standard) != nil && Base64.decode(standard) == Base64.decode(url, .url))
      #expect(try desk.object("\(noun)/get", ["encoding": "base64"]).text("secret") == standard)
    }
    let management = desk.management
    let kid = try desk.object("sealing/get").text("kid")
    #expect(try kid == management.keyStates(of: .sealing).first?.id && kid != nil)
  }

  // MARK: Two operators at once

  @Test func `two changes of an API at the same time are both kept`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let management = bench.management
    try management.addKey(.es256, id: "e")
    var audience = Management.APIChange()
    audience.hasAudience = .some(false)
    var key = Management.APIChange()
    key.key = .named("e")
    store.interrupt { [audience] in try! management.changeAPI(Bench.api, audience) }
    try management.changeAPI(Bench.api, key, atOnce: true)
    let api = try #require(try management.apis().first { $0.host == Bench.api })
    #expect(api.keyID == "e" && api.hasAudience == false)
  }

  @Test func `a key that is removed while an API moves to it does not come back`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let management = bench.management
    try management.addKey(.es256, id: "e")
    var change = Management.APIChange()
    change.key = .named("e")
    store.interrupt { try! management.removeKey("e") }
    #expect(throws: ServiceError.unknown("key", name: "e")) {
      try management.changeAPI(Bench.api, change, atOnce: true)
    }
    #expect(try management.keys().isEmpty)
    #expect(try management.apis().allSatisfy { $0.keyID == nil })
  }

  @Test func `an API that is removed while its key changes does not come back`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let management = bench.management
    for id in ["a", "b"] { try management.addKey(.es256, id: id) }
    for host in ["a.example.com", "b.example.com"] { try management.add(API(host, keyID: "a")) }
    store.interrupt { try! management.removeAPI("a.example.com") }
    #expect(try management.changeKey("a", to: "b", atOnce: true) == ["b.example.com"])
    let apis = try management.apis().filter { $0.keyID != nil }
    #expect(apis.map(\.host) == ["b.example.com"] && apis.map(\.keyID) == ["b"])
  }

  @Test func `features that two operators add at the same time are both kept`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let (management, id) = (bench.management, try HardwareID([UInt8](repeating: 7, count: 16)))
    let key = try HardwarePublicKey([UInt8](repeating: 7, count: 32))
    try management.addHardware(HardwareIdentity(id: id, publicKey: key), name: "lock")
    store.interrupt { try! management.changeHardware(id, adding: .log) }
    let changed = try management.changeHardware(id, adding: .ratchet)
    #expect(try changed.features == [.log, .ratchet] && management.hardware(id) == changed)
    store.interrupt { try! management.revokeHardware(id) }
    #expect(try management.changeHardware(id, adding: .grants).isRevoked)
    #expect(try management.hardware(id).features == [.log, .ratchet, .grants])
  }

  @Test func `hardware that goes while its features change is unknown, and does not come back`()
    throws
  {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let (management, id) = (bench.management, try HardwareID([UInt8](repeating: 7, count: 16)))
    let key = try HardwarePublicKey([UInt8](repeating: 7, count: 32))
    try management.addHardware(HardwareIdentity(id: id, publicKey: key), name: "lock")
    store.interrupt { try! store.apply([.remove(.hardware, id.description)]) }
    #expect(throws: ServiceError.unknown("hardware", name: id.description)) {
      try management.changeHardware(id, adding: .log)
    }
    #expect(try management.hardware().isEmpty)
  }

  // MARK: Hardware

  @Test func `hardware is shown as it was added, and its secret sealed alone`() throws {
    let desk = try Desk()
    let (id, other) = (String(repeating: "ab", count: 16), String(repeating: "ac", count: 16))
    let key = String(repeating: "cd", count: 32)
    let now: JSONValue = .number(JSONNumber(desk.world.now.seconds))
    let arguments: JSONObject = [
      "id": .string(id), "publicKey": .string(key), "mode": "development", "literal": true,
      "name": "lock", "features": ["ratchet", "token-2"],
    ]
    let added = try desk.object("hardware/add", arguments)
    #expect(
      added == [
        "id": .string(id), "publicKey": .string(key), "mode": "development", "literal": true,
        "name": "lock", "features": ["token-2", "ratchet"], "revoked": false, "added": now,
      ])
    #expect(throws: ServiceError.alreadyThere("hardware", name: id)) {
      try desk.value("hardware/add", arguments)
    }
    let plain = try desk.object("hardware/add", ["id": .string(other), "publicKey": .string(key)])
    #expect(plain.text("mode") == "production" && plain.flag("literal") == false)
    #expect(plain.text("name") == "" && plain.texts("features") == [])
    #expect(try desk.list("hardware/list") == [added, plain])
    #expect(try desk.value("hardware/sealed-secret", ["id": .string(other)]) == [:])
    let drawn = [UInt8](60...91)
    let changed = try desk.object(
      "hardware/change", ["id": .string(other), "factorySecret": .string(Base64.encode(drawn))])
    #expect(changed.texts("features") == ["token-2", "factory-secret"])
    let sealed = try desk.object("hardware/sealed-secret", ["id": .string(other)]).text("sealed")
    let handed = try desk.object("hardware/factory-key")
    #expect(handed.members.map(\.name) == ["key"])
    let opener = try FactoryKey(secret(#require(Base64.decode(handed.text("key") ?? ""))))
    _ = try opener.open(#require(Base64.decode(sealed ?? "")), of: HardwareID(hex(other)))
    try desk.done("hardware/revoke", ["id": .string(id)])
    #expect(try desk.list("hardware/list").map { $0.flag("revoked") } == [true, false])
  }

  @Test func `an argument of hardware that is none is refused by its name`() throws {
    let desk = try Desk()
    let (id, key) = (String(repeating: "ab", count: 16), String(repeating: "cd", count: 32))
    func refused(
      _ change: JSONObject, _ field: String, _ value: String, _ allowed: String
    ) throws {
      var arguments: JSONObject = ["id": .string(id), "publicKey": .string(key)]
      for (name, value) in change.members { arguments[name] = value }
      try desk.refused("hardware/add", arguments, field, value, allowed)
    }
    try refused(
      ["features": ["x", .string(Desk.long)]], "features", String("x, \(Desk.long)".prefix(80)),
      "token-2, ratchet, sealed, log, grants, factory-secret, upcoming, channels")
    try refused(["factorySecret": "?"], "factorySecret", "(not shown)", "base64")
    try refused(
      ["features": ["factory-secret"]], "features", "factory-secret",
      "factory-secret with the factory secret")
    try refused(
      ["literal": true, "factorySecret": .string(Base64.encode([UInt8](60...91)))],
      "factory secret", "of hardware that takes literal tokens",
      "hardware that takes no literal tokens")
    try refused(["id": "x"], "id", "x", "32 hexadecimal digits")
    try refused(["publicKey": .string(Desk.long)], "publicKey", Desk.cut, "64 hexadecimal digits")
    #expect(try desk.list("hardware/list").isEmpty)
    for verb in ["add", "change", "sealed-secret", "revoke"] {
      try desk.missing("hardware/\(verb)", [:], "id")
    }
    try desk.missing("hardware/add", ["id": .string(id)], "publicKey")
  }
}
