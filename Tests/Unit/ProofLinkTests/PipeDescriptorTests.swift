// SPDX-License-Identifier: Apache-2.0

import Foundation
import OpenFiles
import OwnThreads
import ProofModel
import Testing

@testable import ProofLink

/// Two pipes: the ends of a channel, and those of the hardware.
private func pipes() throws -> (own: [Int32], hardware: [Int32]) {
  var (incoming, outgoing): ([Int32], [Int32]) = ([0, 0], [0, 0])
  let (one, two) = unsafe (pipe(&incoming), pipe(&outgoing))
  try #require(one == 0 && two == 0)
  for end in incoming + outgoing { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  return ([incoming[0], outgoing[1]], [outgoing[0], incoming[1]])
}

/// Whether the other ends of a pipe are closed.
private func isEnded(_ end: Int32) -> Bool {
  var polled = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
  let count = unsafe poll(&polled, 1, 60_000)
  return count == 1 && polled.revents & Int16(POLLHUP) != 0
}

/// Uses a channel over a socket, and one over FIFOs.
private func useChannels() async throws {
  var ends: [Int32] = [0, 0]
  let paired = unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
  try #require(paired == 0)
  _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
  let socket = try PipeChannel(reading: ends[0], writing: ends[0])
  socket.close()
  await waitUntil { socket.isOver }
  #expect(isEnded(ends[1]))
  _ = close(ends[1])
  let (own, hardware) = try pipes()
  let channel = try PipeChannel(reading: own[0], writing: own[1])
  channel.close()
  // The hardware notices that the app writes no more, and closes its own end.
  #expect(isEnded(hardware[0]))
  _ = close(hardware[1])
  await waitUntil { channel.isOver }
  _ = close(hardware[0])
}

/// Tries to open a socket that is none, one with a path that is too long, and FIFOs of which one
/// has no reader.
private func openInVain() throws {
  let folder = "/tmp/pipe-\(UUID().uuidString.prefix(8))"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  for path in [folder + "/none", folder + String(repeating: "/x", count: 100)] {
    #expect(throws: LinkUnavailable.self) { _ = try PipeChannel(socket: path) }
  }
  for name in ["to", "from"] {
    let made = unsafe mkfifo("\(folder)/\(name)", 0o600)
    #expect(made == 0)
  }
  #expect(throws: LinkUnavailable.self) {
    _ = try PipeChannel(to: folder + "/to", from: folder + "/from")
  }
  #expect(throws: LinkUnavailable.self) {
    _ = try PipeChannel(to: folder + "/to", from: folder + "/none")
  }
}

/// Whether the calling thread puts off the signal of a pipe without a reader.
private func putsOffPipeSignals() -> Bool {
  var set = sigset_t()
  _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
  return unsafe sigismember(&set, SIGPIPE) == 1
}

/// Each test runs in a process of its own, where no other test opens a file or gets a signal.
@Suite("A link over a pipe, and the system's descriptors and signals", .timeLimit(.minutes(5)))
struct PipeDescriptorTests {
  @Test("leaves none open when it is over")
  func ended() async {
    await #expect(processExitsWith: .success) {
      try await useChannels()
      let before = try openFiles()
      for _ in 0..<3 { try await useChannels() }
      #expect(try openFiles() == before)
    }
  }

  @Test("leaves none open when it could not be opened")
  func inVain() async {
    await #expect(processExitsWith: .success) {
      try openInVain()
      let before = try openFiles()
      for _ in 0..<3 { try openInVain() }
      #expect(try openFiles() == before)
    }
  }

  @Test("ends when it writes to hardware that reads no more, and the app lives on")
  func withoutReader() async {
    await #expect(processExitsWith: .success) {
      _ = signal(SIGPIPE, SIG_DFL)
      for _ in 0..<3 {
        let (own, hardware) = try pipes()
        let channel = try PipeChannel(reading: own[0], writing: own[1])
        _ = close(hardware[0])
        channel.send([1, 2, 3])
        for await pdu in channel.received { Issue.record("\(pdu)") }
        _ = close(hardware[1])
        await waitUntil { channel.isOver }
        #expect(channel.isClosed)
      }
      // A thread that served a link gets the signal again.
      for _ in 0..<50 {
        let putsOff = await withCheckedContinuation { continuation in
          DispatchQueue.global().async { continuation.resume(returning: putsOffPipeSignals()) }
        }
        #expect(!putsOff)
      }
    }
  }
}
