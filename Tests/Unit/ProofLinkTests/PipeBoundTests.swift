// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofModel
import Testing

@testable import ProofLink

@Suite("PDUs in a stream")
struct PipeFrameTests {
  @Test("have their length in front of them, the low byte first")
  func frame() {
    #expect(PipeFrames.frame([7]) == [1, 0, 7])
    #expect(PipeFrames.frame([7, 8, 9]) == [3, 0, 7, 8, 9])
    let long = [UInt8](repeating: 7, count: 517)
    #expect(PipeFrames.frame(long) == [5, 2] + long)
  }

  @Test("are whole once their last byte came, wherever the stream was cut")
  func pieces() throws {
    let pdus: [[UInt8]] = [[1], [2, 3], [UInt8](repeating: 4, count: 517), [5, 6, 7]]
    let stream = pdus.flatMap(PipeFrames.frame)
    for step in [1, 2, 3, 4, 5, 6, 7, 8, 500, 520, stream.count] {
      var frames = PipeFrames()
      var came: [[UInt8]] = []
      for first in stride(from: 0, to: stream.count, by: step) {
        came += try frames.receive(stream[first..<min(first + step, stream.count)])
      }
      #expect(came == pdus, "\(step)")
    }
  }

  @Test("wait for the rest of a length, of a PDU, and of the next one")
  func rest() throws {
    var frames = PipeFrames()
    #expect(try frames.receive([2]) == [])
    #expect(try frames.receive([0]) == [])
    #expect(try frames.receive([8]) == [])
    #expect(try frames.receive([9, 1, 0, 7, 1]) == [[8, 9], [7]])
    #expect(try frames.receive([0, 6]) == [[6]])
    #expect(try frames.receive([]) == [])
  }

  @Test("have 1 to 517 bytes")
  func lengths() throws {
    for (head, isLength) in [
      ([0, 0], false), ([1, 0], true), ([5, 2], true), ([6, 2], false), ([0, 3], false),
      ([1, 128], false),
    ] as [([UInt8], Bool)] {
      var frames = PipeFrames()
      if isLength {
        #expect(try frames.receive(head) == [])
      } else {
        #expect(throws: PipeFrames.OutOfStep.self) { try frames.receive(head) }
      }
    }
  }
}

/// A channel, with the test at the other end.
@Suite("A link over a pipe at its bounds", .timeLimit(.minutes(5)))
struct PipeBoundTests {
  private static func sockets() throws -> (own: Int32, other: Int32) {
    var ends: [Int32] = [0, 0]
    // A process that another test starts meanwhile keeps no end open.
    let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    let paired = unsafe socketpair(AF_UNIX, kind, 0, &ends)
    try #require(paired == 0)
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return (ends[0], ends[1])
  }

  private static func send(_ bytes: [UInt8], to end: Int32) {
    let count = unsafe write(end, bytes, bytes.count)
    #expect(count == bytes.count)
  }

  private static func read(_ count: Int, from end: Int32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let length = unsafe Glibc.read(end, &bytes, count)
    return Array(bytes.prefix(max(0, length)))
  }

  /// Returns once nothing more can be written.
  private static func waitUntilFull(_ end: Int32) async {
    await waitUntil {
      var polled = pollfd(fd: end, events: Int16(POLLOUT), revents: 0)
      return unsafe poll(&polled, 1, 0) == 0
    }
  }

  @Test("takes a PDU of 517 bytes from a socket, and ends at a longer one")
  func longest() async throws {
    let (own, other) = try Self.sockets()
    let channel = try PipeChannel(reading: own, writing: own)
    let longest = [UInt8](repeating: 7, count: 517)
    Self.send([1], to: other)
    Self.send(longest, to: other)
    Self.send(longest + [7], to: other)
    var came: [[UInt8]] = []
    for await pdu in channel.received { came.append(pdu) }
    #expect(came == [[1], longest])
    await waitUntil { channel.isOver }
    _ = close(other)
  }

  @Test("ends when the other end is closed, also after it sent")
  func closed() async throws {
    let (own, other) = try Self.sockets()
    let channel = try PipeChannel(reading: own, writing: own)
    channel.send([1, 2, 3])
    #expect(Self.read(9, from: other) == [1, 2, 3])
    _ = close(other)
    for await pdu in channel.received { Issue.record("\(pdu)") }
    await waitUntil { channel.isOver }
    #expect(channel.isClosed)
  }

  @Test("keeps PDUs for a socket that takes no more for a while")
  func fullSocket() async throws {
    let (own, other) = try Self.sockets()
    let channel = try PipeChannel(reading: own, writing: own)
    let pdus = (0..<2000).map { [UInt8($0 & 0xFF)] + [UInt8](repeating: 1, count: 516) }
    for pdu in pdus { channel.send(pdu) }
    await Self.waitUntilFull(own)
    for pdu in pdus {
      let came = Self.read(600, from: other)
      #expect(came == pdu)
      if came.isEmpty { break }
    }
    _ = close(other)
    await waitUntil { channel.isOver }
  }

  @Test("keeps PDUs for a FIFO that takes no more for a while")
  func fullFIFO() async throws {
    var (incoming, outgoing): ([Int32], [Int32]) = ([0, 0], [0, 0])
    let (one, two) = unsafe (pipe(&incoming), pipe(&outgoing))
    try #require(one == 0 && two == 0)
    for end in incoming + outgoing { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    for end in [incoming[0], outgoing[1]] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    let channel = try PipeChannel(reading: incoming[0], writing: outgoing[1])
    let pdus = (0..<2000).map { [UInt8($0 & 0xFF)] + [UInt8](repeating: 1, count: 516) }
    for pdu in pdus { channel.send(pdu) }
    await Self.waitUntilFull(outgoing[1])
    var frames = PipeFrames()
    var came: [[UInt8]] = []
    while came.count < pdus.count {
      let bytes = Self.read(4096, from: outgoing[0])
      guard !bytes.isEmpty else { break }
      came += try frames.receive(bytes)
    }
    #expect(came == pdus)
    _ = close(incoming[1])
    _ = close(outgoing[0])
    await waitUntil { channel.isOver }
  }

  @Test("has a path of 107 bytes at most, without a zero")
  func paths() {
    for (path, isTaken) in [
      ("/" + String(repeating: "x", count: 106), true),
      ("/" + String(repeating: "x", count: 107), false), ("/none\u{1}", true),
      ("/none\u{0}", false),
    ] {
      let error = #expect(throws: LinkUnavailable.self) { _ = try PipeChannel(socket: path) }
      let reason = isTaken ? "No such file or directory" : "too long for a socket's path"
      #expect(error?.reason == "\(path): \(reason)" && error?.isExhausted == false)
    }
  }
}
