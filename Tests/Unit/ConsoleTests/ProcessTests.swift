// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import Testing

/// A program's own process: limits, signals, output. Each test has a process of its own.
@Suite("The process of a program")
struct ProcessTests {
  /// The soft and the hard limit of a name in `/proc/self/limits`.
  private static func limits(_ name: String) throws -> [String] {
    let text = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
    return line.dropFirst(name.count).split(separator: " ").prefix(2).map(String.init)
  }

  @Test("writes no core dump: its limit is one byte, which a kernel that pipes dumps heeds, too")
  func coreDumps() async {
    await #expect(processExitsWith: .success) {
      CoreDumps.forbid()
      let limits = try ProcessTests.limits("Max core file size")
      #expect(limits == ["1", "1"])
    }
  }

  @Test("raises its limit on open files if it must, up to the system's")
  func openFiles() async {
    await #expect(processExitsWith: .success) {
      let before = try ProcessTests.limits("Max open files").compactMap { Int($0) }
      try OpenFiles.allow(1)
      #expect(try ProcessTests.limits("Max open files") == before.map(String.init))
      try OpenFiles.allow(before[1])
      #expect(try ProcessTests.limits("Max open files") == [before[1], before[1]].map(String.init))
    }
  }

  @Test("is told what the system allows if that is less than it needs")
  func tooFewFiles() async {
    await #expect(processExitsWith: .success) {
      let before = try ProcessTests.limits("Max open files")
      let allowed = try #require(Int(before[1]))
      let error = #expect(throws: OpenFiles.TooFew.self) { try OpenFiles.allow(allowed + 1) }
      #expect(
        error?.description
          == "\(allowed + 1) files may have to be open at once, and the system allows \(allowed):"
          + " lower --connections, or raise the system's limit (ulimit -n)")
      #expect(try ProcessTests.limits("Max open files") == before)
    }
  }

  @Test("gets each signal as a wish, and none of them ends it before")
  func signals() async {
    await #expect(processExitsWith: .success) {
      let signals = Signals()
      for (number, wish) in [
        (SIGHUP, Signals.Wish.renew), (SIGTERM, .stop), (SIGINT, .stop), (SIGHUP, .renew),
      ] {
        // To this thread, which waits for it next.
        raise(number)
        #expect(signals.next() == wish)
      }
      // A reader of the log that has closed is no reason to end.
      raise(SIGPIPE)
    }
  }

  @Test("ends at once by a stop signal after it was released", arguments: [SIGTERM, SIGINT])
  func released(_ number: Int32) async {
    await #expect(processExitsWith: .signal(number)) { [number] in
      let signals = Signals()
      signals.release()
      // A wish to renew stays one.
      raise(SIGHUP)
      guard signals.next() == .renew else { return }
      signals.pause(seconds: 0)
      raise(number)
    }
  }

  @Test("has no colours where its output is no terminal")
  func colours() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(7), observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      print(Terminal().coloured("plain", .red))
      Terminal.complain("bad – news")
      Terminal.complain("")
      Terminal.end(7)
    }
    let output = String(decoding: result.standardOutputContent, as: UTF8.self)
    #expect(output.contains("plain\n") && !output.contains("\u{1B}"))
    #expect(
      String(decoding: result.standardErrorContent, as: UTF8.self).hasSuffix("bad – news\n\n"))
  }

  @Test("ends where a table has a header or a row of another width")
  func tables() async {
    await #expect(processExitsWith: .failure) { _ = Table(["a", "b"], [.left]) }
    await #expect(processExitsWith: .failure) {
      var table = Table(["a", "b"], [.left, .left])
      table.add(["only one"])
    }
  }
}
