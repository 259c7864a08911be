// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Verbs as such: their names, the types of their arguments, and their requests over HTTP.
@Suite struct VerbRequestTests {
  @Test func `a verb has two parts, and an unknown one is told by its first 80 characters`() throws
  {
    let desk = try Desk()
    for verb in ["", "api", "api/", "/list", "api/list/", "api/none", "none/list", "metrics/list"] {
      #expect(throws: ServiceError.unknown("verb", name: verb)) { try desk.value(verb) }
    }
    for noun in [
      "secret", "management", "devkey", "registration", "policy", "device", "pin", "config",
      "keyset",
      "token", "arc", "sdk", "hardware", "gate", "event", "challenge", "risk", "stringkey",
      "saltkey",
      "string",
    ] {
      #expect(throws: ServiceError.unknown("verb", name: "\(noun)/none")) {
        try desk.value("\(noun)/none")
      }
    }
    for verb in [Desk.long, "\(Desk.long)/x"] {
      #expect(throws: ServiceError.unknown("verb", name: Desk.cut)) { try desk.value(verb) }
    }
  }

  @Test func `an argument of another type is refused by its name`() throws {
    let wrong: JSONValue = [1]
    let half = try JSONValue(parsing: "0.5")
    let desk = try Desk()
    for (verb, arguments, field, allowed) in [
      ("api/add", ["host": wrong], "host", "a text"),
      ("api/add", ["host": "h", "audience": wrong], "audience", "true, false"),
      ("api/add", ["host": "h", "pins": wrong], "pins", "an array of texts"),
      ("api/add", ["host": "h", "pins": "p"], "pins", "an array of texts"),
      ("api/change", ["host": "h", "atOnce": 1], "atOnce", "true, false"),
      ("device/list", ["count": "5"], "count", "an integer"),
      ("device/list", ["count": half], "count", "an integer"),
      ("policy/set", ["issuer": 1], "issuer", "a text"),
      ("pin/service", [:], "pins", "an array of texts"),
    ] as [(String, JSONObject, String, String)] {
      try desk.refused(verb, arguments, field, "of another type", allowed)
    }
    // Null is no value.
    _ = try desk.value("device/list", ["count": .null])
    _ = try desk.value("api/add", ["host": "n.example.com", "pins": .null, "audience": .null])
    #expect(throws: ServiceError.unknown("argument", name: Desk.cut)) {
      try desk.value("api/list", [Desk.long: 1])
    }
  }

  @Test func `each error has the status of its kind`() {
    for (error, status) in [
      (.unknown("a", name: "b"), 404), (.alreadyThere("a", name: "b"), 409),
      (.inUse("a", by: "b"), 409), (.accountThere("a"), 409), (.outOfTurn("a", instead: "b"), 409),
      (.notConfirmed, 409), (.invalid("a", value: "b", allowed: "c"), 400),
      (.jose(.randomFailed), 400),
      (.store(.busy(path: "p")), 503), (.damaged("a"), 503), (.noMemory, 503), (.noAccount, 503),
      (.wrongPassphrase, 503), (.wrongKeyFile, 503), (.otherLock(expected: "a"), 503),
    ] as [(ServiceError, Int)] { #expect(error.status == status, "\(error)") }
  }

  @Test
  func `a management request is logged with its token and verb, or the peer that was refused`()
    throws
  {
    let log = HandLog()
    let bench = try Bench(log: log)
    let reader = try bench.management.addManagementToken("reader", role: .read)
    func ask(_ verb: String, _ token: String?, body: String = "") -> HTTPResponse {
      bench.service.respond(
        to: HTTPRequest(
          method: "POST", path: "/v1/manage/\(verb)",
          headers: token.map { ["authorization": $0] } ?? [:], body: Array(body.utf8),
          peer: "192.0.2.9"))
    }
    func last() -> [String] {
      log.all.last.map { ["\($0.name)"] + $0.details.map { "\($0.name)=\($0.value)" } } ?? []
    }
    func error(_ response: HTTPResponse) throws -> String? {
      guard case .object(let object) = try JSONValue(parsing: response.body.span) else {
        return nil
      }
      return object.text("error")
    }
    for token in [nil, "", "Bearer", "Bearer ", "bearer \(reader)", "Bearer x"] {
      let refused = ask("api/list", token)
      #expect(refused.status == 401 && refused.headers["www-authenticate"] == "Bearer")
      #expect(try error(refused) == "Show the account's management token as a bearer token.")
      #expect(last() == ["management", "outcome=refused", "peer=192.0.2.9"])
    }
    let denied = ask("api/remove", "Bearer \(reader)")
    #expect(denied.status == 403 && denied.headers["www-authenticate"] == nil)
    #expect(
      try error(denied)
        == "The role “read” of this token does not cover “api/remove”. "
        + "Use a token of a role that does; “management list” shows the roles.")
    #expect(last() == ["management", "outcome=refused", "token=reader", "peer=192.0.2.9"])
    #expect(
      bench.service.metrics[.managementRefused] == 7 && bench.service.metrics[.management] == 0)
    let done = ask("api/list", "Bearer \(reader)", body: "{}")
    #expect(done.status == 200)
    #expect(done.headers == ["content-type": "application/json", "cache-control": "no-store"])
    #expect(last() == ["management", "outcome=done", "verb=api/list", "token=reader"])
    let count = log.all.count
    for body in ["[]", "{", "1"] {
      let wrong = ask("api/list", "Bearer \(reader)", body: body)
      #expect(try wrong.status == 400 && error(wrong) == "The body is not a JSON object.")
    }
    #expect(bench.service.metrics[.management] == 1)
    #expect(ask("api/list", "Bearer \(reader)", body: #"{"a":1}"#).status == 404)
    #expect(log.all.count == count && bench.service.metrics[.management] == 2)
  }
}
