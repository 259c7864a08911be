// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc

/// The failure of a system call.
struct RelayFailure: Error, CustomStringConvertible {
  let description: String

  init(_ what: String) {
    let code = errno
    description = "\(what): \(unsafe String(cString: strerror(code)))"
  }
}

/// A Unix socket whose datagrams are PDUs. None of its calls blocks.
struct RelaySocket {
  enum Taken {
    case pdu([UInt8])
    case nothing
    case end
  }

  private static let byteCountMax = 1024
  let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Listens. Removes a socket that a dead process left at the path.
  static func listening(at path: String) throws -> RelaySocket {
    let made = try make(path)
    var result = try unsafe reach(path) { unsafe bind(made.descriptor, $0, $1) }
    if result != 0, errno == EADDRINUSE {
      if isDead(path) {
        _ = unsafe unlink(path)
        result = try unsafe reach(path) { unsafe bind(made.descriptor, $0, $1) }
      } else {
        // The look at the other one has an error of its own.
        errno = EADDRINUSE
      }
    }
    guard result == 0, listen(made.descriptor, 16) == 0 else { throw RelayFailure(path) }
    return made
  }

  static func connected(to path: String) throws -> RelaySocket {
    let made = try make(path)
    guard try unsafe reach(path, { unsafe Glibc.connect(made.descriptor, $0, $1) }) == 0 else {
      defer { made.close() }
      throw RelayFailure(path)
    }
    return made
  }

  func accepted() -> RelaySocket? {
    let descriptor = accept(descriptor, nil, nil)
    return descriptor < 0 ? nil : RelaySocket(descriptor)
  }

  func take() -> Taken {
    var bytes = [UInt8](repeating: 0, count: Self.byteCountMax)
    let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .end }
    return count == 0 ? .end : .pdu(Array(bytes.prefix(count)))
  }

  /// Drops a PDU that the other side does not take now, as a radio link would.
  func send(_ pdu: [UInt8]) {
    _ = unsafe Glibc.send(
      descriptor, pdu, pdu.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  func close() { _ = Glibc.close(descriptor) }

  private static func make(_ path: String) throws -> RelaySocket {
    let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | flags, 0)
    guard descriptor >= 0 else { throw RelayFailure(path) }
    return RelaySocket(descriptor)
  }

  private static func isDead(_ path: String) -> Bool {
    var status = stat()
    // A file of another kind refuses a connection, too.
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
      let probe = try? make(path)
    else { return false }
    defer { probe.close() }
    let result = try? unsafe reach(path) { unsafe Glibc.connect(probe.descriptor, $0, $1) }
    return result == -1 && errno == ECONNREFUSED
  }

  private static func reach(
    _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
      errno = ENAMETOOLONG
      throw RelayFailure(path)
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, size) }
    }
  }
}

/// Waits for sockets, for a time, and for a signal to stop.
struct RelayWatch {
  private let wish: Int32

  /// From now on SIGTERM and SIGINT are read as requests to stop, and do not end the process. Make
  /// it before any thread, because threads inherit the signal mask.
  init() throws {
    var ends: [Int32] = [0, 0]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
      throw RelayFailure("signals")
    }
    var set = sigset_t()
    _ = unsafe sigemptyset(&set)
    _ = unsafe sigaddset(&set, SIGTERM)
    _ = unsafe sigaddset(&set, SIGINT)
    _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    wish = ends[0]
    let (signals, teller) = (set, ends[1])
    DispatchQueue(label: "signals").async {
      var signals = signals
      var number: Int32 = 0
      while unsafe sigwait(&signals, &number) != 0 {}
      _ = Glibc.close(teller)
    }
  }

  /// The milliseconds of a monotonic clock.
  static var now: Int {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }

  /// The sockets that have input; nil when a signal asks to stop.
  func wait(for sockets: [RelaySocket], until time: Int?) throws -> Set<Int32>? {
    var polled = ([wish] + sockets.map(\.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let milliseconds = time.map { Int32(clamping: max(0, $0 - Self.now)) } ?? -1
    guard unsafe poll(&polled, nfds_t(polled.count), milliseconds) >= 0 || errno == EINTR else {
      throw RelayFailure("poll")
    }
    if polled[0].revents != 0 { return nil }
    return Set(polled.dropFirst().filter { $0.revents != 0 }.map(\.fd))
  }

  static func remove(_ path: String) { _ = unsafe unlink(path) }
}
