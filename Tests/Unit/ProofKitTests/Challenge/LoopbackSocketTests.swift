// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import OpenFiles
import OwnThreads
import ProofModel
import Testing

@testable import ProofKit

private func request(_ server: LoopbackServer, _ data: String) -> String {
  "GET /done?state=\(server.state)&data=\(data) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n"
}

/// Waits at four ports: for a browser that is silent, for one that asks for another page, for one
/// that brings a result beside a silent one, and for more of them than a port has room for.
private func useLoopback() throws {
  do {
    let server = try #require(LoopbackServer())
    let browser = try Browser(server.port)
    let times: [Duration] = [.zero, .zero, .zero, .zero, .seconds(5), .seconds(60)]
    #expect(server.wait(for: .seconds(60), AttestorClock.listed(times)) == .failure(.system))
    withExtendedLifetime(browser) {}
  }
  do {
    let server = try #require(LoopbackServer())
    let browser = try Browser(server.port, "GET / HTTP/1.1\r\n\r\n")
    let times = [Duration](repeating: .zero, count: 5)
    #expect(
      server.wait(for: .seconds(9), AttestorClock.listed(times) { server.cancel() })
        == .failure(.cancelled))
    withExtendedLifetime(browser) {}
  }
  for count in [2, 17] {
    let server = try #require(LoopbackServer())
    let browsers = try (1...count).map { number in
      try Browser(server.port, number == count ? request(server, "last") : "")
    }
    #expect(server.wait(for: .seconds(9), AttestorClock.listed([.zero])) == .success("last"))
    withExtendedLifetime(browsers) {}
  }
}

@Suite("The port for a browser, and its descriptors", .timeLimit(.minutes(5)))
struct LoopbackSocketTests {
  @Test("after its wait none is open, whatever its browsers did")
  func ended() async {
    // In a process of its own, where no other test opens a file.
    await #expect(processExitsWith: .success) {
      try useLoopback()
      let before = try openFiles()
      for _ in 0..<3 { try useLoopback() }
      #expect(try openFiles() == before)
    }
  }

  @Test("of 17 connections the oldest one makes room, and is not read any more")
  func room() throws {
    for (count, result) in [(16, "first"), (17, "last")] {
      let server = try #require(LoopbackServer())
      let browsers = try (1...count).map { number in
        let data = number == 1 ? "first" : number == count ? "last" : nil
        return try Browser(server.port, data.map { request(server, $0) } ?? "")
      }
      #expect(
        server.wait(for: .seconds(9), AttestorClock.listed([.zero])) == .success(result), "\(count)"
      )
      withExtendedLifetime(browsers) {}
    }
  }

  @Test("stay in this process, and no call waits for them")
  func flags() throws {
    let (socket, port) = try #require(CoreSockets.listen())
    let browser = try Browser(port)
    let connection = try #require(CoreSockets.accept(socket))
    let pair = try #require(CoreSockets.pair())
    let all = [socket, connection, pair.read, pair.write]
    defer { for descriptor in all { CoreSockets.close(descriptor) } }
    for descriptor in all {
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
      try #require(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
    }
    #expect(CoreSockets.accept(socket) == nil && CoreSockets.read(connection, upTo: 9) == nil)
    withExtendedLifetime(browser) {}
  }

  // MARK: The program that shows the page

  private func present(_ script: String) async throws -> String {
    let page = ChallengePage(
      try GateClient.Challenge(challengeID(9)), at: "https://api.example.com", "GET", "/",
      handle: "h", .init())
    let start = #"rest=${0##*loopback=}; port=${rest%%&*}; state=${0##*state=};"#
    let end =
      #"curl -s --noproxy '*' "http://127.0.0.1:$port/done?state=$state&data=$data" > /dev/null"#
    let presenter = BrowserPresenter(command: ["/bin/bash", "-c", "\(start) \(script); \(end)"])
    return try await presenter.present(page)
  }

  @Test("a program that shows the page reads nothing of the app, and writes nowhere")
  func streams() async throws {
    // The last digit of a descriptor's flags: 0 if it is open for reading, 1 for writing.
    let script = #"""
      data=$(for i in 0 1 2; do
        read -r _ flags < <(grep flags /proc/$$/fdinfo/$i)
        printf %s "$(readlink /proc/$$/fd/$i)${flags: -1},"
      done)
      """#
    #expect(try await present(script) == "/dev/null0,/dev/null1,/dev/null1,")
  }

  @Test("a program that has ended leaves no entry in the system's table")
  func reaped() async throws {
    let process = try await present("data=$$")
    #expect(Int(process) != nil)
    let entry = "/proc/\(process)"
    await waitUntil { !FileManager.default.fileExists(atPath: entry) }
    #expect(!FileManager.default.fileExists(atPath: entry))
  }
}
