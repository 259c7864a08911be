// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofLink
import ProofModel
import Testing

/// The transport that this library brings, with the test at the other end of the pipe.
@Suite("A transport over a pipe", .timeLimit(.minutes(5)))
struct PipeTests {
  /// A folder of its own, short enough for a socket's path.
  private final class Folder {
    private let url = URL(fileURLWithPath: "/tmp/pipe-\(UUID().uuidString.prefix(8))")

    init() throws {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
  }

  @Test("over FIFOs opens when the link before is over, even after another waiter gave up")
  func fifos() async throws {
    let folder = try Folder()
    let (to, from) = (folder.path("to"), folder.path("from"))
    for path in [to, from] {
      let made = unsafe mkfifo(path, 0o600)
      #expect(made == 0)
    }
    // The hardware reads before the app writes, and writes once the app reads.
    let reading = unsafe open(to, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let transport = PipeTransport(.fifos(to: to, from: from))
    let first = try #require(try await transport.open() as? PipeChannel)
    let writing = unsafe open(from, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    #expect(reading >= 0 && writing >= 0)
    // As long as the hardware does not close its end, the link is not over.
    first.close()
    let givenUp = Task { try await transport.open() }
    givenUp.cancel()
    await #expect(throws: LinkUnavailable.self) { try await givenUp.value.close() }
    let second = try await transport.open()
    #expect(first.isOver)
    second.close()
    _ = close(writing)
    _ = close(reading)
  }

  @Test("over a socket opens links of which none waits for the other's end")
  func socket() async throws {
    let folder = try Folder()
    let door = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0)
    defer { _ = close(door) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = folder.path("socket")
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let bound = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(door, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0 && listen(door, 4) == 0)
    let transport = PipeTransport(.socket(path))
    let first = try #require(try await transport.open() as? PipeChannel)
    let second = try #require(try await transport.open() as? PipeChannel)
    #expect(!first.isOver && !second.isOver)
    second.close()
    // The hardware hears that a link ended before it hears of the next.
    let third = try await transport.open()
    #expect(!first.isOver && second.isOver)
    first.close()
    third.close()
  }

  @Test("of FIFOs ends with a length that no PDU has")
  func malformed() async throws {
    for length: UInt16 in [0, 518] {
      var (incoming, outgoing): ([Int32], [Int32]) = ([0, 0], [0, 0])
      let (one, other) = unsafe (pipe(&incoming), pipe(&outgoing))
      try #require(one == 0 && other == 0)
      for end in incoming + outgoing {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      let channel = try PipeChannel(reading: incoming[0], writing: outgoing[1])
      let head = [UInt8(truncatingIfNeeded: length), UInt8(length >> 8)]
      let sent = unsafe write(incoming[1], head, head.count)
      #expect(sent == head.count)
      for await pdu in channel.received { Issue.record("\(pdu)") }
      // The hardware notices, and closes its ends.
      _ = close(incoming[1])
      _ = close(outgoing[0])
      await waitUntil { channel.isOver }
    }
  }

  @Test("of PDUs that wait for a reader keeps the latest 256")
  func unread() async throws {
    var ends: [Int32] = [0, 0]
    let paired = unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
    try #require(paired == 0)
    let channel = try PipeChannel(reading: ends[0], writing: ends[0])
    for number in UInt16(0)..<300 {
      let pdu = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
      let sent = unsafe write(ends[1], pdu, pdu.count)
      #expect(sent == pdu.count)
    }
    _ = close(ends[1])
    await waitUntil { channel.isOver }
    var kept: [Int] = []
    for await pdu in channel.received { kept.append(Int(pdu[0]) << 8 | Int(pdu[1])) }
    #expect(kept == Array(44..<300))
  }
}
