// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofService

/// A refusal repeats the first characters of what was given, so that no caller fills a log.
@Suite struct RefusedTextTests {
  /// The part that a refusal repeats.
  private func told(_ body: () throws -> Void) -> String? {
    guard case .invalid(_, let value, _)? = #expect(throws: ServiceError.self, performing: body)
    else { return nil }
    return value
  }

  @Test func `names, pins, keys and sources that are none are told by 80 characters`() throws {
    let desk = try Desk()
    let long = Desk.long
    for (what, body) in [
      ("pin", { try HostPins.check(long) }),
      ("challenge", { _ = try NamedChallenge(long, .person) }),
      ("sources", { _ = try LeftOutSources(parsing: long) }),
      ("evidence", { _ = try LeftOutEvidence(parsing: long) }),
      ("region", { try RegionAddresses.check(name: long) }),
      ("host", { _ = try Host.checked(long + "_") }),
      (
        "gate's key", { _ = try desk.value("gate/add", ["name": "g", "publicKey": .string(long)]) }
      ),
      (
        "next key",
        {
          _ = try desk.value(
            "gate/rotate",
            ["name": "door", "what": "key", "step": "next", "publicKey": .string(long)])
        }
      ),
    ] as [(String, () throws -> Void)] { #expect(told(body) == Desk.cut, "\(what)") }
  }

  @Test func `addresses that are none are told by 120 characters`() {
    let long = "https://" + String(repeating: "a", count: 113)
    #expect(told { try RegionAddresses.checkDifferent(long, long) } == String(long.dropLast()))
    #expect(told { _ = try ServiceURL.checked("_" + long) } == String(("_" + long).prefix(120)))
  }
}
