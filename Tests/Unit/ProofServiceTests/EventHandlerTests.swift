// SPDX-License-Identifier: Apache-2.0

import EventServing
import Foundation
import HTTPServing
import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Statuses, sentences, log lines and metrics of the listener for events.
@Suite struct EventHandlerTests {
  private typealias Office = EventServingTests.Office

  private static func problem(_ response: HTTPResponse) throws -> String {
    guard case .object(let body) = try JSONValue(parsing: response.body.span) else {
      throw Refused(response)
    }
    #expect(body.integer("status") == Int64(response.status))
    #expect(response.headers["content-type"] == "application/problem+json")
    #expect(response.headers["cache-control"] == "no-store")
    return body.text("title") ?? ""
  }

  private static func samples(_ office: Office) -> [String: Double] {
    Dictionary(
      uniqueKeysWithValues: office.handler.metrics[0].samples.map {
        ($0.labels.map(\.value).joined(), $0.value)
      })
  }

  @Test("Its paths are /v1/event and /v1/forget, and POST is the only method")
  func paths() throws {
    #expect(EventHandler.routes == ["/v1/event", "/v1/forget"])
    let office = try Office()
    for path in ["/", "/v1/events", "/v1/event/"] {
      let response = office.ask(path, "{}")
      #expect(response.status == 404)
      #expect(try Self.problem(response) == "Ask with POST /v1/event.")
    }
    for path in EventHandler.routes {
      let response = office.handler.respond(
        to: HTTPRequest(method: "GET", path: path, headers: ["authorization": "Bearer secret"]))
      #expect(response.status == 405)
      #expect(try Self.problem(response) == "Ask with POST.")
    }
    #expect(office.handler.metrics[0].samples.isEmpty)
  }

  @Test("A request without a credential that counts gets 401, and is told the scheme")
  func unauthorized() throws {
    let office = try Office()
    for credential in ["", "secret", "bearer secret", "Bearer other", "Bearer  secret"] {
      let response = office.handler.respond(
        to: HTTPRequest(
          method: "POST", path: "/v1/event", headers: ["authorization": credential]))
      #expect(response.status == 401 && response.headers["www-authenticate"] == "Bearer")
      #expect(try Self.problem(response) == "The credential is missing or does not count.")
    }
    #expect(Self.samples(office) == ["unauthorized": 5])
  }

  @Test("A credential that asks too fast is told to wait, and another path does not help")
  func rate() throws {
    let office = try Office(canJudge: false, rate: 1)
    // Ten seconds' questions at once; the clock can only add to them.
    for _ in 0..<10 { #expect(office.ask("/v1/event", "{}").status == 503) }
    var asked = 10
    var response = office.ask("/v1/forget", "{}")
    while response.status == 503, asked < 100_000 {
      asked += 1
      response = office.ask("/v1/forget", "{}")
    }
    #expect(response.status == 429 && response.headers["retry-after"] == "1")
    #expect(try Self.problem(response) == "This credential asks too often.")
    #expect(Self.samples(office) == ["limited": 1, "no-redeemer": Double(asked)])
  }

  @Test("A question that cannot be read gets 400 with the member")
  func unreadable() throws {
    let office = try Office()
    for (path, words) in [
      ("/v1/event", "The member \"event\" is the event's number, 0 to 65535."),
      ("/v1/forget", "The member \"account\" is missing."),
    ] {
      let response = office.ask(path, "{}")
      #expect(response.status == 400)
      #expect(try Self.problem(response) == words)
    }
    #expect(Self.samples(office) == ["unreadable": 2])
  }

  @Test("Each result is counted under its word, and each error state under its cause")
  func metrics() throws {
    let office = try Office()
    let (token, _) = try office.admitted()
    let reasons = try (0..<3).map { _ in try office.post(token, "secret").body.text("reason") }
    #expect(reasons == [nil, "replayed", "replayed"])
    let failed = CompactDraft.errorText(.event, .notReady)
    for _ in 0..<2 {
      #expect(try office.post(failed, "secret").body.text("reason") == "error-state")
    }
    let measures = office.handler.metrics
    #expect(
      measures.map(\.name) == [
        "proof_service_events_total", "proof_service_event_error_states_total",
      ])
    #expect(measures.allSatisfy { $0.kind == .counter && !$0.help.isEmpty })
    #expect(
      measures[0].samples
        == [("error-state", 2.0), ("replayed", 2), ("valid", 1)].map {
          HTTPMetric.Sample($0.1, labels: [.init("result", $0.0)])
        })
    #expect(measures[1].samples == [HTTPMetric.Sample(2, labels: [.init("cause", "2")])])
    #expect(try Office(canJudge: false).handler.metrics[1].samples.isEmpty)
  }

  @Test("Answers are JSON that no cache keeps; a store that is away is told with its reason")
  func answers() throws {
    let office = try Office()
    let forgotten = office.ask("/v1/forget", #"{"account":"ann"}"#)
    #expect(forgotten.status == 200)
    #expect(forgotten.headers == ["content-type": "application/json", "cache-control": "no-store"])
    #expect(String(decoding: forgotten.body, as: UTF8.self) == #"{"devices":0}"#)
    #expect(try #require(office.lines.take()).hasSuffix("account forgotten asker=shop devices=0\n"))
    let closed = try Office(store: GoneStore())
    let response = closed.ask("/v1/forget", #"{"account":"ann"}"#)
    #expect(response.status == 503)
    #expect(
      try Self.problem(response) == "The replay store did not answer. Ask again.")
    let line = try #require(closed.lines.take())
    #expect(line.contains("account not forgotten asker=shop reason=") && line.contains("gone"))
    #expect(!line.contains("=ann") && !line.contains("\"ann"))
    let empty = try Office(canJudge: false).ask("/v1/event", "{}")
    #expect(empty.status == 503)
    #expect(try Self.problem(empty) == "No event can be judged now.")
  }

  @Test("Credentials are read again; those of before stay if the new ones cannot be used")
  func readsAgain() throws {
    let office = try Office()
    let path = office.files.path(of: "credentials")
    func statuses() throws -> [Int] {
      ["secret", "other"].map { credential in
        office.handler.respond(
          to: HTTPRequest(
            method: "POST", path: "/v1/event", headers: ["authorization": "Bearer \(credential)"])
        ).status
      }
    }
    func write(_ text: String) throws {
      // In place, so that the mode stays.
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(text.utf8))
      try file.close()
    }
    #expect(try statuses() == [400, 401])
    let digest = Hexadecimal.encode(Digest(hashing: Array("other".utf8)).bytes)
    try write("# none\nother \(digest) 99999999999\n")
    #expect(try statuses() == [400, 401])
    office.handler.readAgain()
    #expect(try statuses() == [401, 400])
    try write("other\n")
    _ = office.lines.take()
    office.handler.readAgain()
    let line = try #require(office.lines.take())
    #expect(line.contains("event credentials not taken reason=") && line.contains("line 1"))
    #expect(line.contains(path) && line.contains("The previous ones stay in use."))
    #expect(try statuses() == [401, 400])
    // A credential that has ended does not count.
    try write("other \(digest) 1000000000\n")
    office.handler.readAgain()
    #expect(try statuses() == [401, 401])
  }
}
