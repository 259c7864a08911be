// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofKit

/// Shows nothing: does what a test says with the page.
private struct ScriptedPresenter: ChallengePresenter {
  let show: @Sendable (ChallengePage) async -> Result<String, PresenterError>

  func present(_ page: ChallengePage) async throws(PresenterError) -> String {
    try await show(page).get()
  }
}

@Suite("Pages for a person")
struct PresenterTests {
  private func clearance(_ stage: GateStage, host: String = "api.example.com") throws -> String {
    let own = try #require(stage.session.state.withLock { $0.held?.admitted.handle.bytes })
    let expiry = UInt32(clamping: (stage.time.now + 1900).seconds)
    var bytes: [UInt8] = [0x1A, 1, 16, 0, 1, 0]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: expiry >> ($0 * 8)) }
    bytes += [UInt8](repeating: 0, count: 8)
    bytes += Digest(hashing: Array("pfc1.host.......\(host)".utf8)).bytes.prefix(16)
    return Base64.encode(bytes + own + [UInt8](repeating: 5, count: 16), .url)
  }

  /// A gate that asks for a person unless the request has a clearance.
  private let api = ScriptedAPI { request, _ in
    request.values(of: "proof-clearance").isEmpty
      ? challenged(challengeID(9)) : TransportResponse(status: 200, body: [])
  }

  private func client(
    _ stage: GateStage, _ options: ChallengePage.Options = .init(),
    _ show: @escaping @Sendable (ChallengePage) async -> Result<String, PresenterError>
  ) -> GateClient {
    GateClient(
      stage.session, over: api,
      challenges: ChallengeSettings(presenter: ScriptedPresenter(show: show), page: options))
  }

  @Test(
    "the data of a success is the clearance: it goes with the repeated request, without an answer")
  func success() throws {
    let stage = try GateStage()
    let data = try clearance(stage)
    let client = client(stage) { _ in .success(data) }
    #expect(try client.performAndWait(stage.request).status == 200)
    #expect(api.sent.count == 2)
    #expect(api.sent[1].values(of: "proof-clearance") == [data])
    #expect(
      api.sent[1].values(of: "proof-answer").isEmpty && api.sent[1].body == stage.request.body)
    #expect(client.clearance(for: "api.example.com") == data)
  }

  @Test(
    "the page's address names challenge, request, handle and the app's choices",
    arguments: [
      (ChallengePage.Options(), "&layout=popup&dismissible=yes"),
      (
        .init(layout: .embedded, isDismissible: false, language: "zh-CN"),
        "&layout=embedded&language=zh-CN"
      ),
    ])
  func address(options: ChallengePage.Options, rest: String) throws {
    let stage = try GateStage()
    let pages = CoreLock<[ChallengePage]>([])
    _ = try? client(stage, options) { page in
      pages.withLock { $0.append(page) }
      return .failure(.cancelled)
    }.performAndWait(stage.request)
    let page = try #require(pages.withLock { $0.first })
    let handle = try #require(stage.session.state.withLock { $0.held?.admitted.handle.bytes })
    #expect(
      page.url == "https://api.example.com/.well-known/proofkit/page?challenge=\(challengeID(9))"
        + "&method=POST&target=%2Fpayments%3Fx%3D1&handle=\(Base64.encode(handle, .url))" + rest)
    #expect(page.origin == "https://api.example.com" && page.options == options)
    #expect(page.url(returningTo: 7, state: "a") == page.url + "&loopback=7&state=a")
  }

  @Test(
    "a custom page takes the place of the gate's, and learns the gate's origin",
    arguments: [
      "https://pages.example.com/check.html", "https://pages.example.com/check?x=1",
      "file:///opt/app/check.html",
    ])
  func custom(page: String) throws {
    let stage = try GateStage()
    let urls = CoreLock<[String]>([])
    _ = try? client(stage, .init(page: page)) { page in
      urls.withLock { $0.append(page.url) }
      return .failure(.cancelled)
    }.performAndWait(stage.request)
    let url = try #require(urls.withLock { $0.first })
    #expect(url.hasPrefix(page + (page.utf8.contains(0x3F) ? "&" : "?") + "challenge="))
    #expect(url.hasSuffix("&gate=https%3A%2F%2Fapi.example.com"))
  }

  @Test(
    "each code of a page is an error of its own, with the code as text",
    arguments: [
      ("1001", PresenterError.verificationFailed), ("1002", .system), ("1003", .parameter),
      ("1005", .cancelled),
      ("8001", .cannotBeShown), ("8002", .abnormalData), ("8003", .internal), ("8004", .network),
    ])
  func codes(code: String, error: PresenterError) throws {
    #expect(PresenterError(code: code) == error && error.code == code)
    #expect(PresenterError.allCases.count == 8 && PresenterError(code: "1004") == nil)
    let stage = try GateStage()
    let client = client(stage) { _ in .failure(error) }
    #expect(throws: GateError.challenge(.page(error))) { try client.performAndWait(stage.request) }
    #expect(api.sent.count == 1)
  }

  @Test("the post of a page to its host is read in one form")
  func messages() {
    #expect(ChallengePage.result(of: #"{"success":{"data":"x"}}"#) == .success("x"))
    #expect(ChallengePage.result(of: #"{"failed":"1005"}"#) == .failure(.cancelled))
    #expect(ChallengePage.result(of: #"{"failed":"77"}"#) == .failure(.abnormalData))
    for text in [
      "", "x", "{}", #"{"success":"x"}"#, #"{"failed":1005}"#,
      #"{"success":{"data":"x"},"failed":"1"}"#,
    ] {
      #expect(ChallengePage.result(of: text) == nil)
    }
  }

  @Test("data that is no clearance for this app and host is 8002, and nothing is sent")
  func abnormal() throws {
    let stage = try GateStage()
    for data in ["", "x", try clearance(stage, host: "evil.example.com")] {
      let client = client(stage) { _ in .success(data) }
      #expect(throws: GateError.challenge(.page(.abnormalData))) {
        try client.performAndWait(stage.request)
      }
    }
    #expect(api.sent.count == 3)
  }

  @Test("the time while a page is shown does not count")
  func clock() throws {
    let stage = try GateStage()
    let data = try clearance(stage)
    let time = stage.time
    let client = client(stage) { _ in
      time.advance(.seconds(300))
      return .success(data)
    }
    #expect(try client.performAndWait(stage.request, within: .seconds(60)).status == 200)
  }

  @Test("cancelling the request closes the page")
  func cancelled() async throws {
    let stage = try GateStage()
    let shown = Handover<Bool>()
    let closed = Handover<Bool>()
    let client = client(stage) { _ in
      await withTaskCancellationHandler {
        shown.give(true)
        await closed.arrival()
      } onCancel: {
        closed.give(true)
      }
      return .failure(.cancelled)
    }
    let task = Task { () -> GateError? in
      do throws(GateError) {
        _ = try await client.perform(stage.request)
        return nil
      } catch { return error }
    }
    await shown.arrival()
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  // MARK: The system's browser

  /// A program in a browser's place: it gets the address as its parameter 0.
  private func browser(_ script: String) -> BrowserPresenter {
    BrowserPresenter(command: [
      "/bin/bash", "-c",
      """
      rest=${0##*loopback=}; port=${rest%%&*}; state=${0##*state=}
      done="http://127.0.0.1:$port/done?state=$state"
      \(script)
      """,
    ])
  }

  @Test(
    "a browser brings the result to a port of this machine, once",
    arguments: [
      ("curl -s \"$done&data=abc\"", Result<String, PresenterError>.success("abc")),
      ("curl -s \"$done&code=1005\"", .failure(.cancelled)),
      ("curl -s \"$done&code=8004\"", .failure(.network)),
      ("curl -s \"$done&code=77\"", .failure(.abnormalData)),
      // Others on this machine, who do not know the state; then the browser.
      (
        """
        curl -s "http://127.0.0.1:$port/done?state=wrong&data=evil" "http://127.0.0.1:$port/"
        curl -s -d x "$done&data=evil"; curl -s -H "Host: evil.example.com" "$done&data=evil"
        curl -s "http://localhost:$port/done?state=$state&data=evil"; curl -s "$done&data=evil&x=y"
        head -c 20000 /dev/zero | timeout 5 nc -N 127.0.0.1 $port
        curl -s "$done&data=abc"
        """, .success("abc")
      ),
      // Silent connections hold no other connection up.
      (
        """
        for i in $(seq 40); do exec {descriptor}<>"/dev/tcp/127.0.0.1/$port"; done
        curl -s "$done&data=abc"
        """, .success("abc")
      ),
    ])
  func loopback(script: String, expected: Result<String, PresenterError>) async throws {
    let page = ChallengePage(
      try GateClient.Challenge(challengeID(9)), at: "https://api.example.com", "GET", "/",
      handle: "h", .init())
    let presenter = browser(script)
    let result: Result<String, PresenterError>
    do throws(PresenterError) {
      result = .success(try await presenter.present(page))
    } catch { result = .failure(error) }
    #expect(result == expected)
  }

  @Test("the page needs a browser or a terminal")
  func nothing() async throws {
    let page = ChallengePage(
      try GateClient.Challenge(challengeID(9)), at: "https://api.example.com", "GET", "/",
      handle: "h", .init())
    for command in [[], ["/nowhere/browser"]] {
      await #expect(throws: PresenterError.cannotBeShown) {
        try await BrowserPresenter(command: command).present(page)
      }
    }
  }

  @Test("the terminal shows the address, and cancelling ends the wait")
  func terminal() async throws {
    let page = ChallengePage(
      try GateClient.Challenge(challengeID(9)), at: "https://api.example.com", "GET", "/",
      handle: "h", .init())
    let lines = CoreLock<[String]>([])
    let shown = Handover<Bool>()
    let presenter = TerminalPresenter { line in
      lines.withLock { $0.append(line) }
      if line.hasPrefix("https://") { shown.give(true) }
    }
    let task = Task { () -> PresenterError? in
      do throws(PresenterError) {
        _ = try await presenter.present(page)
        return nil
      } catch { return error }
    }
    await shown.arrival()
    #expect(lines.withLock { $0.last?.hasPrefix(page.url + "&loopback=") } == true)
    task.cancel()
    #expect(await task.value == .cancelled)
  }
}

@Suite("A browser's request, mutated")
struct LoopbackFuzzTests {
  @Test("only the request with the state, from this address, ends the wait")
  func requests() {
    var mutator = Mutator("loopback request")
    let good = "GET /done?state=s7&data=abc HTTP/1.1\r\nHost: 127.0.0.1:70\r\nAccept: */*\r\n\r\n"
    #expect(LoopbackRequest(Array(good.utf8), port: 70, state: "s7")?.result == .success("abc"))
    #expect(LoopbackRequest(Array(good.utf8), port: 71, state: "s7") == nil)
    #expect(LoopbackRequest(Array(good.utf8), port: 70, state: "s8") == nil)
    let corpus = [good, good.split(separator: "&").joined(separator: "&code=1005&")].map {
      Array($0.utf8)
    }
    for _ in 0..<20 * Mutator.rounds {
      let bytes = mutator.mutant(of: corpus)
      guard let found = LoopbackRequest(bytes, port: 70, state: "s7") else { continue }
      if case .success(let data) = found.result { #expect(data.utf8.count <= 1024) }
      // Line ends before a request are none of it.
      let request = String(decoding: bytes, as: UTF8.self).drop { $0 == "\r\n" }
      #expect(request.hasPrefix("GET /done?"))
    }
  }
}
