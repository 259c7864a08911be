// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProofModel
import Testing

@testable import ProofKit

@Suite("The port for a browser, at its bounds")
struct LoopbackBoundTests {
  private func request(_ server: LoopbackServer, byteCount: Int? = nil) -> String {
    let head = "GET /done?state=\(server.state)&data=a=b HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)"
    guard let byteCount else { return head + "\r\n\r\n" }
    let rest = byteCount - head.utf8.count - "\r\nX: \r\n\r\n".utf8.count
    return head + "\r\nX: " + String(repeating: "x", count: rest) + "\r\n\r\n"
  }

  @Test("a request of 8,192 bytes is read, and a longer one is not")
  func longest() throws {
    for (count, result) in [
      (8_192, Result<String, PresenterError>.success("a=b")), (8_193, .failure(.cancelled)),
    ] {
      let server = try #require(LoopbackServer())
      let browser = try Browser(server.port, request(server, byteCount: count))
      // One look at the clock for the end, two for each round: one round to accept, five to read.
      let times = [Duration](repeating: .zero, count: 13)
      #expect(
        server.wait(for: .seconds(9), AttestorClock.listed(times) { server.cancel() }) == result,
        "\(count)")
      withExtendedLifetime(browser) {}
    }
  }

  @Test("a browser that has sent nothing for 5 seconds is not read any more")
  func patience() throws {
    for (read, result) in [
      (.milliseconds(4_999), .success("a=b")), (.seconds(5), .failure(.system)),
    ] as [(Duration, Result<String, PresenterError>)] {
      let server = try #require(LoopbackServer())
      let browser = try Browser(server.port, request(server))
      // The end, then the round that accepts it, then the round that would read it.
      let times: [Duration] = [.zero, .zero, .zero, .zero, read, .seconds(60)]
      #expect(server.wait(for: .seconds(60), AttestorClock.listed(times)) == result)
      withExtendedLifetime(browser) {}
    }
  }

  @Test("at the end of its time the port looks at no request")
  func end() throws {
    for (time, result) in [
      (.zero, .failure(.system)), (.nanoseconds(1), .success("a=b")),
    ] as [(Duration, Result<String, PresenterError>)] {
      let server = try #require(LoopbackServer())
      let browser = try Browser(server.port, request(server))
      #expect(server.wait(for: time, AttestorClock.listed([.zero])) == result)
      withExtendedLifetime(browser) {}
    }
  }

  @Test("a command that shows the page has the environment of the app, each variable of its own")
  func environment() async throws {
    let start = try Data(contentsOf: URL(filePath: "/proc/self/environ"))
    let page = ChallengePage(
      try GateClient.Challenge(challengeID(9)), at: "https://api.example.com", "GET", "/",
      handle: "h", .init())
    let presenter = BrowserPresenter(command: [
      "/bin/bash", "-c",
      """
      rest=${0##*loopback=}; port=${rest%%&*}; state=${0##*state=}
      count=$(tr -cd '\\0' < /proc/$$/environ | wc -c)
      curl -s --noproxy '*' "http://127.0.0.1:$port/done?state=$state&data=$count"
      """,
    ])
    let variables = start.split(separator: 0).count
    #expect(variables > 1)
    #expect(try await presenter.present(page) == "\(variables)")
  }
}
