// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofApp

/// An app of a shop: everything an app developer writes to prove requests and events to an API.
final class ShopApp: DemoApp {
  /// The time limit of a request. The shop is on the same machine, too.
  private static let limit = Duration.seconds(20)
  /// The event that redeems a voucher.
  private static let voucher: EventID = 3300

  static let help = """
    enrol            gets an admission to the shop's API from the attestation service
    prices           asks for the prices
    buy ITEM COUNT   buys something
    redeem NAME      redeems a voucher, once
    """

  private let home: AppHome
  private let stopwatch = Stopwatch()
  private let attestor: Attestor

  /// Starts the app.
  ///
  /// - Parameter home: Its files.
  /// - Throws: If a file cannot be used; the error names it.
  init(_ home: AppHome) throws {
    self.home = home
    var configuration = Configuration(
      account: try home.account(), bundle: home.bundle, storage: home.storage)
    configuration.network.authorities = home.authority
    configuration.appName = "shop-app"
    attestor = try Attestor(configuration, using: Parts(configuration).timed(by: stopwatch))
    try attestor.setUser(home.user().name)
  }

  /// Does one verb, and returns its outcome and its time.
  func perform(_ words: [String]) async -> AppAnswer {
    let start = ContinuousClock.now
    _ = stopwatch.take(of: .zero, overLink: false)
    var answer: AppAnswer
    do {
      answer = try await act(words)
    } catch let error as GateError {
      answer = AppAnswer(outcome: Self.outcome(error), detail: "\(error)", isDone: false)
    } catch {
      answer = AppAnswer(outcome: "failed", detail: "\(error)", isDone: false)
    }
    answer.time = stopwatch.take(of: .now - start, overLink: false)
    return answer
  }

  private func act(_ words: [String]) async throws -> AppAnswer {
    switch (words.first, words.count) {
    case ("enrol", 1):
      try await attestor.ready()
      return AppAnswer(outcome: "admitted", detail: "to \(try home.api())")
    case ("prices", 1): return try await send(Request("GET", url("/prices")))
    case ("buy", 3):
      return try await send(
        Request("POST", url("/orders?item=\(words[1])"), body: Array(words[2].utf8)))
    case ("redeem", 2):
      return try await send(
        Request("POST", url("/vouchers"), body: Array(words[1].utf8)), event: Self.voucher)
    default: throw AppFailure("not understood; these are:\n" + Self.help)
    }
  }

  /// Sends a request with its proof and, if there is an event, with a token of the event for the body.
  private func send(_ request: Request, event: EventID? = nil) async throws -> AppAnswer {
    var request = request
    request.fields = [HeaderField("Authorization", "Bearer \(try home.user().secret)")]
    if request.body != nil { request.fields.append(HeaderField("Content-Type", "text/plain")) }
    let response = try await attestor.client.perform(
      request, event: event, data: event == nil ? [] : request.body ?? [], within: Self.limit)
    let text = String(decoding: response.body, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    var answer = AppAnswer(
      outcome: Self.outcome(response.status),
      detail: "\(response.status): " + text.split(separator: "\n").joined(separator: ", "),
      isDone: response.status == 200)
    // Beacons and nonces change with the time; their names and all else do not.
    let names = response.fields.map { $0.name.lowercased() }.sorted()
    answer.told = "\(response.status) \(names.joined(separator: " ")) \(text)"
    return answer
  }

  private func url(_ target: String) throws -> String { "https://\(try home.api())\(target)" }

  private static func outcome(_ status: Int) -> String {
    switch status {
    case 200: "served"
    case 402: "declined"
    default: "refused with \(status)"
    }
  }

  private static func outcome(_ error: GateError) -> String {
    switch error {
    case .transport(.untrusted): "nothing sent: another key"
    case .transport: "no answer"
    case .notReady: "not admitted"
    case .hostNotListed: "nothing sent: not the account's host"
    case .tokenRefused: "token refused"
    default: "no proof"
    }
  }
}
