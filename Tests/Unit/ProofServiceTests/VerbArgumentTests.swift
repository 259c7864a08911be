// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// An argument that a verb does not know is a fault of the caller, perhaps a misspelt name: a verb
/// that overlooks it does something else than was asked for.
@Suite struct VerbArgumentTests {
  /// Each verb with arguments that it can read. ID, HALF and KEY stand for 32, 16 and 8 bytes.
  private static let verbs = """
    management/list {}
    management/add {"name": "n", "role": "owner"}
    management/change {}
    management/remove {"name": "n"}
    devkey/get {}
    devkey/change {}
    devkey/remove {}
    api/list {}
    api/add {"host": "new.example.com"}
    api/change {"host": "api.example.com", "atOnce": true}
    api/remove {"host": "api.example.com"}
    registration/list {}
    registration/add {"digest": "ID"}
    registration/environment-add {"name": "n", "records": "RECORDS"}
    registration/remove {"digest": "ID"}
    policy/show {}
    device/list {}
    device/pass {"device": "latest"}
    device/fail {"device": "latest"}
    device/clear {"device": "latest"}
    device/annotate {"device": "latest", "annotations": ""}
    pin/list {}
    pin/set {"host": "h", "pins": ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]}
    pin/remove {"host": "h"}
    pin/service {"pins": []}
    pin/force {"confirm": "x"}
    config/change-key {}
    config/retire-keys {"confirm": "x"}
    config/url {"url": "https://a.example.com"}
    config/failover {}
    config/region {"region": "r"}
    config/show {}
    keyset/list {}
    keyset/add {"alg": "ES256"}
    keyset/change {"kid": "a", "to": "b"}
    keyset/remove {"kid": "a"}
    keyset/get {"kid": "a"}
    keyset/jwks {}
    token/check {"token": "t"}
    token/example {"host": "api.example.com"}
    arc/read {"code": "c"}
    sdk/list {}
    sdk/new {}
    sdk/add {"key": "AAECAwQFBgcICQoLDA0ODw=="}
    sdk/sources {"id": "KEY", "without": "none"}
    sdk/revoke {"id": "KEY"}
    sdk/config-string {}
    hardware/list {}
    hardware/add {"id": "HALF", "publicKey": "ID"}
    hardware/change {"id": "HALF"}
    hardware/sealed-secret {"id": "HALF"}
    hardware/factory-key {}
    hardware/replace-factory-key {}
    hardware/revoke {"id": "HALF"}
    gate/list {}
    gate/watch {"all": true, "watch": true}
    gate/add {"name": "g", "publicKey": "ID"}
    gate/change {"name": "g"}
    gate/show {"name": "g"}
    gate/rotate {"name": "g", "what": "issuer", "step": "next"}
    gate/revoke {"name": "g", "device": "latest"}
    gate/configuration {"name": "g"}
    gate/credential {"name": "g"}
    gate/remove {"name": "g"}
    event/list {}
    event/add {"gate": "g", "audience": "a"}
    event/remove {"numbers": "0-9"}
    challenge/list {}
    challenge/add {"name": "c", "kind": "token"}
    challenge/remove {"name": "c"}
    risk/list {}
    risk/add {"name": "r", "when": "failed", "level": "high", "reason": "x"}
    risk/remove {"name": "r"}
    stringkey/list {}
    stringkey/rotate {}
    stringkey/retire {}
    saltkey/list {}
    saltkey/rotate {}
    saltkey/replace {}
    string/list {}
    string/set {"name": "n", "value": "v"}
    string/remove {"name": "n"}
    metrics/show {}
    messagekey/remove {}
    """
  private static let ownKeys = ["secret", "customkey", "sealing", "messagekey"]
  private static let steps = ["list", "keys", "next", "promote", "retire", "drop", "change"]

  @Test func `a verb refuses an argument that it does not know, and does nothing`() throws {
    let bench = try Bench()
    _ = try bench.attest(bench.app)
    let id = String(repeating: "07", count: 32)
    let kernel = try EvidenceRecord(
      SourceID(.device, 1), name: "kernel", digest: Digest(hashing: []))
    let records = try Base64.encode(EvidenceSet([kernel]).recordBytes, .url)
    let lines =
      Self.verbs.replacing("RECORDS", with: records).replacing("ID", with: id)
      .replacing("HALF", with: id.prefix(32)).replacing("KEY", with: id.prefix(16))
      .split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
      + Self.ownKeys.flatMap { noun in Self.steps.map { ["\(noun)/\($0)", "{}"] } }
    for line in lines {
      guard case .object(var arguments) = try JSONValue(parsing: line[1]) else {
        Issue.record("no arguments: \(line)")
        continue
      }
      arguments.set("surplus", "x")
      let before = try bench.store.revision()
      #expect(throws: ServiceError.unknown("argument", name: "surplus"), "\(line[0])") {
        try bench.management.perform(line[0], arguments)
      }
      #expect(try bench.store.revision() == before, "\(line[0])")
    }
  }
}
