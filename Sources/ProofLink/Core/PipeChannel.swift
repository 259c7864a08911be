// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import ProofModel

/// A link over a local pipe. Its thread waits in `poll` for the pipe, and for a wake-up pipe that
/// `send` and `close` write to. No thread of Swift's shared pool ever waits.
package final class PipeChannel: LinkChannel {
  private struct State {
    var outgoing: [[UInt8]] = []
    var isClosed = false
    /// The descriptors are closed, and their numbers may be in use for other files.
    var isOver = false
    /// The callers that wait for `isOver`, one stream each, so that cancelling one ends its own
    /// alone.
    var waiting: [AsyncStream<Never>.Continuation] = []
  }

  /// The most PDUs that wait for a reader. Further ones displace the oldest.
  private static let bufferedCountMax = 256

  package let received: AsyncStream<[UInt8]>
  private let inbox: AsyncStream<[UInt8]>.Continuation
  private let state = CoreLock(State())
  private let reading: Int32
  private let writing: Int32
  private let bell: (rings: Int32, rung: Int32)

  /// Connects to a socket.
  package convenience init(socket path: String) throws(LinkUnavailable) {
    let file = Glibc.socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Self.socketFlags, 0)
    guard file >= 0 else { throw LinkUnavailable.system(path) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    let name = Array(path.utf8)
    guard name.count < room, !name.contains(0) else {
      _ = Glibc.close(file)
      throw LinkUnavailable("\(path): too long for a socket's path")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    // A local socket connects at once, or fails: its backlog may be full.
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(file, $0, size) }
    }
    guard result == 0 else {
      let reason = LinkUnavailable.system(path)
      _ = Glibc.close(file)
      throw reason
    }
    try self.init(reading: file, writing: file)
  }

  /// Opens two FIFOs, the one that is read first, as docs/LINK.md demands.
  package convenience init(to: String, from: String) throws(LinkUnavailable) {
    let reading = unsafe open(from, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard reading >= 0 else { throw LinkUnavailable.system(from) }
    let writing = unsafe open(to, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    guard writing >= 0 else {
      let reason = LinkUnavailable.system(to)
      _ = Glibc.close(reading)
      throw reason
    }
    try self.init(reading: reading, writing: writing)
  }

  /// Takes a connected socket, or two ends of FIFOs; they are closed with the link.
  package init(reading: Int32, writing: Int32) throws(LinkUnavailable) {
    var ends: [Int32] = [0, 0]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Self.socketFlags, 0, &ends) == 0
    else {
      let reason = LinkUnavailable.system("a pair of sockets")
      _ = Glibc.close(reading)
      if writing != reading { _ = Glibc.close(writing) }
      throw reason
    }
    bell = (rings: ends[1], rung: ends[0])
    self.reading = reading
    self.writing = writing
    (received, inbox) = AsyncStream.makeStream(
      bufferingPolicy: .bufferingNewest(Self.bufferedCountMax))
    DispatchQueue(label: "ProofLink.PipeChannel").async { self.attend() }
  }

  package func send(_ pdu: [UInt8]) {
    let framed = isSocket ? pdu : PipeFrames.frame(pdu)
    state.withLock {
      guard !$0.isClosed else { return }
      $0.outgoing.append(framed)
      ring($0)
    }
  }

  package func close() {
    state.withLock {
      guard !$0.isClosed else { return }
      $0.isClosed = true
      ring($0)
    }
  }

  /// Whether the app has closed the link. The descriptors may still be open; see `isOver`.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether the pipe is closed, by the hardware too.
  package var isOver: Bool { state.withLock { $0.isOver } }

  /// Returns when it is over, or when the task is cancelled.
  func waitUntilOver() async {
    let (over, end) = AsyncStream<Never>.makeStream()
    state.withLock {
      if $0.isOver { end.finish() } else { $0.waiting.append(end) }
    }
    for await _ in over {}
  }

  private var isSocket: Bool { reading == writing }

  private static var socketFlags: Int32 {
    Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
  }

  private func ring(_ state: borrowing State) {
    // A full pipe is fine: an unread byte already wakes the reader.
    if !state.isOver { _ = unsafe write(bell.rings, [1], 1) }
  }

  // MARK: The thread

  private func attend() {
    // Block SIGPIPE: writing to a FIFO that has no reader ends the link, not the app.
    var pipeSignal = sigset_t()
    var before = sigset_t()
    _ = unsafe sigemptyset(&pipeSignal)
    _ = unsafe sigaddset(&pipeSignal, SIGPIPE)
    _ = unsafe pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
    carry()
    leave()
    var now = timespec()
    while unsafe sigtimedwait(&pipeSignal, nil, &now) == SIGPIPE {}
    _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  private func carry() {
    var frames = PipeFrames()
    while let waits = state.withLock({ $0.isClosed ? nil : !$0.outgoing.isEmpty }) {
      var polled = [
        pollfd(fd: bell.rung, events: Int16(POLLIN), revents: 0),
        pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
        pollfd(fd: waits ? writing : -1, events: Int16(POLLOUT), revents: 0),
      ]
      guard unsafe poll(&polled, 3, -1) >= 0 || errno == EINTR else { break }
      if polled[0].revents != 0 { quiet() }
      if polled[1].revents != 0, !takeWhatCame(&frames) { break }
      if polled[2].revents != 0, !sendWhatWaits() { break }
    }
  }

  private func quiet() {
    var rings = [UInt8](repeating: 0, count: 64)
    while unsafe read(bell.rung, &rings, rings.count) > 0 {}
  }

  /// False at the link's end.
  private func takeWhatCame(_ frames: inout PipeFrames) -> Bool {
    // One byte more than the longest PDU, so that a longer one is detected.
    var bytes = [UInt8](repeating: 0, count: LinkPDU.mtus.upperBound + 1)
    let count = unsafe read(reading, &bytes, bytes.count)
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    guard count > 0, !isSocket || count < bytes.count else { return false }
    guard !isSocket else {
      inbox.yield(Array(bytes.prefix(count)))
      return true
    }
    guard let pdus = try? frames.receive(bytes.prefix(count)) else { return false }
    for pdu in pdus { inbox.yield(pdu) }
    return true
  }

  /// False at the link's end.
  private func sendWhatWaits() -> Bool {
    while let pdu = state.withLock({ $0.outgoing.first }) {
      // Less than a FIFO takes at once, so it is written whole or not at all, as a datagram.
      let count =
        unsafe isSocket
        ? Glibc.send(writing, pdu, pdu.count, Int32(MSG_NOSIGNAL))
        : write(writing, pdu, pdu.count)
      if count < 0 { return errno == EAGAIN || errno == EINTR || errno == ENOBUFS }
      state.withLock { _ = $0.outgoing.removeFirst() }
    }
    return true
  }

  /// Closes the writing end first. The hardware notices, closes its own end, and may then be opened
  /// again.
  private func leave() {
    inbox.finish()
    if !isSocket {
      _ = Glibc.close(writing)
      waitForTheEnd()
    }
    let waiting = state.withLock {
      $0.isClosed = true
      $0.isOver = true
      $0.outgoing = []
      _ = Glibc.close(reading)
      _ = Glibc.close(bell.rings)
      _ = Glibc.close(bell.rung)
      return $0.waiting
    }
    for end in waiting { end.finish() }
  }

  /// Waits at most a second for the hardware to close its end, in case it has lost power.
  private func waitForTheEnd() {
    var bytes = [UInt8](repeating: 0, count: 1024)
    while true {
      let count = unsafe read(reading, &bytes, bytes.count)
      if count > 0 { continue }
      guard count < 0, errno == EAGAIN else { return }
      var polled = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&polled, 1, 1000) > 0 else { return }
    }
  }
}

extension LinkUnavailable {
  /// Describes a failed system call by `errno`.
  static func system(_ what: String) -> LinkUnavailable {
    let code = errno
    return LinkUnavailable(
      "\(what): \(unsafe String(cString: strerror(code)))",
      isExhausted: [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code))
  }
}
