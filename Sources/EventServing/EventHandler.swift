// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
package import HTTPServing
package import ProofBackend
internal import ProofGate
internal import ProofJOSE
internal import ProofModel
internal import Synchronization

/// Redeems event tokens for backends that show a credential. The gate and the service serve it alike.
package final class EventHandler: HTTPHandler {
  private static let eventPath = EventCall.path
  private static let forgetPath = "/v1/forget"
  /// Its paths.
  package static let routes = [eventPath, forgetPath]

  /// The process that serves it.
  package struct Place: Sendable {
    /// The beginning of the names of its measures, such as `proof_gate`.
    let prefix: String
    /// The redeemer by the newest configuration; nil while there is none to judge by.
    let redeemer: @Sendable () -> EventVerifier?

    /// Describes the process.
    package init(_ prefix: String, redeemer: @escaping @Sendable () -> EventVerifier?) {
      self.prefix = prefix
      self.redeemer = redeemer
    }
  }

  private struct State {
    var credentials: BypassFile
    var counts: [String: Double] = [:]
  }

  private let place: Place
  private let options: EventOptions
  private let log: HTTPLog
  private let rates = RateLimiter()
  private let state: Mutex<State>

  /// A handler.
  ///
  /// - Parameters:
  ///   - place: The process, with its redeemer.
  ///   - options: The file of credentials, and their rate.
  ///   - log: Takes a line for each judgement.
  /// - Throws: If the file of credentials cannot be used.
  package init(_ place: Place, _ options: EventOptions, log: HTTPLog) throws {
    self.place = place
    self.options = options
    self.log = log
    state = Mutex(State(credentials: try Self.credentials(options.credentials)))
  }

  // MARK: Credentials

  private static func credentials(_ file: String) throws -> BypassFile {
    let bytes = try SecretFile.read(file, limit: BypassFile.byteCountMax)
    do throws(BypassFileError) { return try BypassFile(bytes) } catch {
      throw EventFailure("\(file), \(error)")
    }
  }

  /// Reads the credentials again. If the file cannot be used, those of before count.
  package func readAgain() {
    do {
      let credentials = try Self.credentials(options.credentials)
      state.withLock { $0.credentials = credentials }
    } catch {
      log.note(
        "event credentials not taken",
        [("reason", .text("\(error) The previous ones stay in use."))])
    }
  }

  /// The name of the credential that a request shows; nil for none that counts.
  private func asker(_ request: HTTPRequest, _ now: UnixTime) -> String? {
    let scheme = "Bearer "
    guard let value = request.value(of: "authorization"), value.hasPrefix(scheme) else {
      return nil
    }
    let credentials = state.withLock { $0.credentials }
    return credentials.name(
      of: String(value.dropFirst(scheme.utf8.count)), at: now)
  }

  // MARK: Requests

  /// Answers a request.
  package func respond(to request: HTTPRequest) -> HTTPResponse {
    guard Self.routes.contains(where: { $0 == request.path }) else {
      return Self.problem(404, "Ask with POST \(Self.eventPath).")
    }
    guard request.method == "POST" else { return Self.problem(405, "Ask with POST.") }
    let now = UnixTime.now
    guard let asker = asker(request, now) else {
      count("unauthorized")
      log.note("event refused", [("reason", .text("the credential is missing or does not count"))])
      var response = Self.problem(401, "The credential is missing or does not count.")
      response.headers["www-authenticate"] = "Bearer"
      return response
    }
    if let seconds = rates.wait(of: Array(asker.utf8), rate: options.rate, at: now) {
      count("limited")
      var response = Self.problem(429, "This credential asks too often.")
      response.headers["retry-after"] = "\(seconds)"
      return response
    }
    guard let redeemer = place.redeemer() else {
      count("no-redeemer")
      return Self.problem(503, "No event can be judged now.")
    }
    do throws(EventTextError) {
      return request.path == Self.forgetPath
        ? forget(try EventText.account(request.body), asker, redeemer)
        : redeem(try EventText.question(request.body, from: asker), asker, redeemer)
    } catch {
      count("unreadable")
      return Self.problem(400, error.description)
    }
  }

  private func redeem(
    _ question: EventVerifier.Question, _ asker: String, _ redeemer: EventVerifier
  ) -> HTTPResponse {
    let judgement = redeemer.judge(question)
    let result = judgement.reason?.word ?? "valid"
    count(result)
    // No account, data, token or idempotency key: the log must not name users.
    var values: [(name: String, value: HTTPLog.Value)] = [
      ("asker", .text(asker)), ("number", .number(Int(question.event))), ("result", .text(result)),
      ("risk", .text(judgement.risk.level.word)),
    ]
    if judgement.isRepeated { values.append(("repeated", .text("yes"))) }
    if let facts = judgement.facts {
      values.append(("handle", .text(Base64.encode(facts.handle.bytes, .url))))
    }
    log.note("event judged", values)
    let body = EventText.answer(judgement)
    guard judgement.reason == .store else { return Self.json(200, body) }
    var response = Self.json(503, body)
    response.headers["retry-after"] = "1"
    return response
  }

  private func forget(
    _ account: String, _ asker: String, _ redeemer: EventVerifier
  ) -> HTTPResponse {
    do throws(ReplayStoreFailure) {
      let devices = try redeemer.forget(account: account)
      log.note("account forgotten", [("asker", .text(asker)), ("devices", .number(devices))])
      return Self.json(200, EventText.answer(forgotten: devices))
    } catch {
      log.note(
        "account not forgotten", [("asker", .text(asker)), ("reason", .text("\(error)"))])
      return Self.problem(503, "The replay store did not answer. Ask again.")
    }
  }

  private static func json(
    _ status: Int, _ body: [UInt8], _ type: String = "application/json"
  ) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: ["content-type": type, "cache-control": "no-store"], body: body)
  }

  private static func problem(_ status: Int, _ title: String) -> HTTPResponse {
    json(status, EventText.problem(status, title), "application/problem+json")
  }

  // MARK: Metrics

  private func count(_ result: String) { state.withLock { $0.counts[result, default: 0] += 1 } }

  /// Questions by result, and tokens of apps in an error state.
  package var metrics: [HTTPMetric] {
    let counts = state.withLock { $0.counts }.sorted { $0.key < $1.key }
    let errors = (place.redeemer()?.errorStates ?? [:]).sorted { $0.key < $1.key }
    return [
      HTTPMetric(
        "\(place.prefix)_events_total", .counter, help: "Questions about event tokens, by result.",
        samples: counts.map { HTTPMetric.Sample($0.value, labels: [.init("result", $0.key)]) }),
      HTTPMetric(
        "\(place.prefix)_event_error_states_total", .counter,
        help: "Event tokens of apps in an error state, by cause.",
        samples: errors.map {
          HTTPMetric.Sample(Double($0.value), labels: [.init("cause", "\($0.key)")])
        }),
    ]
  }
}
