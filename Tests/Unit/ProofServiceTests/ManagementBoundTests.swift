// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The bounds of names, numbers and times that operators give, from both sides.
@Suite struct ManagementBoundTests {
  @Test func `a registration lives one second to ten years`() throws {
    let desk = try Desk()
    let now = desk.world.now.seconds
    for seconds in [1, 315_360_000] as [Int64] {
      let added = try desk.object(
        "registration/add",
        [
          "digest": .string(String(repeating: "cd", count: 32)),
          "expireAfter": .number(JSONNumber(seconds)),
        ])
      #expect(added.integer("expiry") == now + seconds)
    }
    for seconds in [-1, 0, 315_360_001] as [Int64] {
      try desk.refused(
        "registration/add",
        [
          "digest": .string(String(repeating: "ce", count: 32)),
          "expireAfter": .number(JSONNumber(seconds)),
        ], "expiry", "\(seconds) seconds", "1 second to 10 years")
    }
  }

  @Test func `a secure string has a name of 1 to 64 characters and 1 to 65,535 bytes`() throws {
    let desk = try Desk()
    for name in ["é", String(repeating: "é", count: 64)] {
      try desk.done("string/set", ["name": .string(name), "value": "v"])
    }
    for name in ["", String(repeating: "é", count: 65), Desk.long] {
      try desk.refused(
        "string/set", ["name": .string(name), "value": "v"], "name of the secure string",
        String(name.prefix(80)), "1 to 64 characters")
    }
    for count in [1, 65_535] {
      try desk.done(
        "string/set", ["name": "n", "value": .string(String(repeating: "v", count: count))])
    }
    for count in [0, 65_536] {
      try desk.refused(
        "string/set", ["name": "n", "value": .string(String(repeating: "v", count: count))],
        "size of the secure string", "\(count) bytes", "1 to 65535")
    }
  }

  @Test func `a name for people that is none is told by its first 80 characters`() throws {
    let desk = try Desk()
    let name: JSONValue = .string(String(repeating: "x", count: 129))
    let (half, digest) = (String(repeating: "07", count: 16), String(repeating: "07", count: 32))
    for (verb, arguments) in [
      ("sdk/new", ["name": name]), ("registration/add", ["name": name, "digest": .string(digest)]),
      ("hardware/add", ["name": name, "id": .string(half), "publicKey": .string(digest)]),
    ] as [(String, JSONObject)] {
      try desk.refused(verb, arguments, "name", Desk.cut, "128 bytes without control characters")
    }
  }

  @Test func `a name that the account does not have is told by its first 80 characters`() throws {
    let desk = try Desk()
    let long: JSONValue = .string(Desk.long)
    for (verb, arguments, noun) in [
      ("gate/show", ["name": long], Gate.noun), ("gate/change", ["name": long], Gate.noun),
      ("gate/remove", ["name": long], Gate.noun), ("gate/credential", ["name": long], Gate.noun),
      ("gate/watch", ["name": long, "watch": true], Gate.noun),
      ("gate/configuration", ["name": long], Gate.noun),
      ("event/add", ["gate": long, "audience": "a"], Gate.noun),
      ("string/remove", ["name": long], SecureString.noun),
      ("pin/remove", ["host": long], HostPins.noun), ("api/remove", ["host": long], API.noun),
      ("keyset/change", ["kid": long, "to": "k"], KeySetKey.noun),
      ("keyset/remove", ["kid": long], KeySetKey.noun),
      ("keyset/get", ["kid": long], KeySetKey.noun),
      (
        "gate/configuration", ["name": "door", "audience": long], "audience of the gate's events"
      ),
    ] as [(String, JSONObject, String)] {
      let before = try desk.world.bench.store.revision()
      #expect(throws: ServiceError.unknown(noun, name: Desk.cut), "\(verb)") {
        try desk.value(verb, arguments)
      }
      #expect(try desk.world.bench.store.revision() == before, "\(verb)")
    }
  }

  @Test func `an entry that is not there cannot be removed or revoked`() throws {
    let desk = try Desk()
    let (digest, half) = (String(repeating: "0c", count: 32), String(repeating: "0c", count: 16))
    let key = String(repeating: "0c", count: 8)
    for (verb, name, value, noun) in [
      ("registration/remove", "digest", digest, Registration.noun),
      ("sdk/revoke", "id", key, SDKBuild.noun), ("hardware/revoke", "id", half, "hardware"),
      ("hardware/change", "id", half, "hardware"),
      ("hardware/sealed-secret", "id", half, "hardware"),
    ] {
      let before = try desk.world.bench.store.revision()
      #expect(throws: ServiceError.unknown(noun, name: value), "\(verb)") {
        try desk.value(verb, [name: .string(value)])
      }
      #expect(try desk.world.bench.store.revision() == before, "\(verb)")
    }
    #expect(throws: ServiceError.unknown(SDKBuild.noun, name: key)) {
      try desk.value("sdk/sources", ["id": .string(key), "without": "none"])
    }
  }

  @Test func `an API is removed with its pins`() throws {
    let desk = try Desk()
    let pin: JSONValue = .string(Base64.encode([UInt8](repeating: 3, count: 32)))
    try desk.done("api/add", ["host": "t.example.com", "pins": [pin]])
    #expect(try desk.list("pin/list").count == 1)
    try desk.done("api/remove", ["host": "T.example.com"])
    #expect(try desk.list("pin/list").isEmpty)
  }

  @Test func `a development key has 144 random bits, in characters of a URL`() throws {
    let desk = try Desk()
    let key = try #require(try desk.object("devkey/change").text("key"))
    #expect(key.count == 24 && Base64.decode(key, .url)?.count == 18)
  }

  @Test func `a response code and a device that are none are told by their first characters`()
    throws
  {
    let desk = try Desk()
    try desk.refused(
      "arc/read", ["code": .string(Desk.long)], "response code", String(Desk.long.prefix(40)),
      "ten letters and digits 2 to 7 that this account's service made")
    #expect(throws: ServiceError.unknown("device", name: "latest")) {
      try desk.value("device/pass", ["device": "latest"])
    }
  }

  @Test func `fifty devices are listed unless another count is asked for`() throws {
    let desk = try Desk()
    let spender = Spender(store: desk.world.bench.store)
    for number in 1...51 as ClosedRange<UInt8> {
      #expect(try spender.see(Spender.device(number), note: Array("{}".utf8)) == .used)
    }
    #expect(try desk.list("device/list").count == 50)
    #expect(try desk.management.devices().count == 50)
    #expect(try desk.world.objects(desk.value("device/list", ["count": 51])).count == 51)
  }

  @Test func `a device whose note is none is damage`() throws {
    let bench = try Bench()
    let device = Spender.device(3)
    for note in ["", "[]", "{"] {
      let spender = Spender(store: bench.store)
      #expect(try spender.see(device, note: Array(note.utf8)) == .used)
      #expect(throws: ServiceError.damaged("device “\(device)”")) {
        try bench.management.devices()
      }
    }
  }
}
