// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
internal import Glibc

/// The system calls of a server for the browser of this machine, and of its start.
enum CoreSockets {
  /// Listens on a free port of 127.0.0.1.
  static func listen() -> (socket: Int32, port: UInt16)? {
    let socket = Glibc.socket(
      AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(socket, address, size) == 0 && Glibc.listen(socket, 16) == 0
          && getsockname(socket, address, &size) == 0
      }
    }
    guard isBound else {
      close(socket)
      return nil
    }
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  /// A connection that waits; nil if there is none.
  static func accept(_ socket: Int32) -> Int32? {
    let connection = Glibc.accept(socket, nil, nil)
    guard connection >= 0 else { return nil }
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    _ = fcntl(connection, F_SETFL, O_NONBLOCK)
    return connection
  }

  /// Reads the bytes that have come; empty at the end of the stream, nil if nothing is there yet.
  static func read(_ socket: Int32, upTo limit: Int) -> [UInt8]? {
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
      count = unsafe recv(socket, buffer.baseAddress, limit, 0)
      filled = max(count, 0)
    }
    if count < 0, errno == EAGAIN || errno == EINTR { return nil }
    return bytes
  }

  /// Writes a short answer that the socket's buffer holds.
  static func write(_ bytes: [UInt8], to socket: Int32) {
    _ = unsafe send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    _ = shutdown(socket, Int32(SHUT_WR))
  }

  static func close(_ socket: Int32) { _ = Glibc.close(socket) }

  /// Two connected ends: the one to read from, and the one to write to.
  static func pair() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
    return (ends[0], ends[1])
  }

  /// Wakes the reader of a pair.
  static func wake(_ end: Int32) {
    let byte: [UInt8] = [1]
    _ = unsafe send(end, byte, 1, Int32(MSG_NOSIGNAL))
  }

  /// Waits until one of the descriptors can be read, at most a second at a time.
  static func wait(_ descriptors: [Int32], milliseconds: Int32) -> Set<Int32> {
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard unsafe poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { return [] }
    return Set(entries.filter { $0.revents != 0 }.map(\.fd))
  }

  /// Starts a program with the environment that this process was started with, and reaps it.
  ///
  /// - Returns: Whether it was started.
  static func start(_ arguments: [String]) -> Bool {
    let environment =
      ((try? SmallFile.beginning(of: "/proc/self/environ", byteCount: 1 << 20)) ?? [])
      .split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    var actions = unsafe posix_spawn_file_actions_t()
    guard unsafe posix_spawn_file_actions_init(&actions) == 0 else { return false }
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      let mode = descriptor == STDIN_FILENO ? O_RDONLY : O_WRONLY
      unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", mode, 0)
    }
    var process = pid_t()
    let failure = unsafe Self.withTexts(arguments) { words in
      unsafe Self.withTexts(environment) { values in
        unsafe posix_spawnp(&process, arguments[0], &actions, nil, words, values)
      }
    }
    guard failure == 0 else { return false }
    let started = process
    CoreThread.run {
      var status: Int32 = 0
      while unsafe waitpid(started, &status, 0) < 0, errno == EINTR {}
    }
    return true
  }

  /// Lends the texts as C has them, with a null pointer at the end.
  private static func withTexts<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var bytes = texts.flatMap { Array($0.utf8CString) }
    let lengths = texts.map(\.utf8CString.count)
    return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var place = buffer.baseAddress
      var pointers: [UnsafeMutablePointer<CChar>?] = unsafe []
      for length in lengths {
        unsafe pointers.append(place)
        unsafe place = place.map { unsafe $0 + length }
      }
      unsafe pointers.append(nil)
      return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
    }
  }

  /// Whether standard input and output are terminals.
  static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }
}
