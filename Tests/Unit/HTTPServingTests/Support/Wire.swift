// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A client's end of a connection, byte by byte: what no well-behaved client library sends.
final class Wire {
  /// A connection that says nothing for this long has hung, and the test has failed.
  private static let patience = 20

  private let socket: Int32
  private var received: [UInt8] = []

  /// `nil` if the connection is refused.
  convenience init?(to port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    self.init(AF_INET, address)
  }

  /// A connection to a Unix socket; `nil` if it is refused.
  convenience init?(at path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (index, byte) in bytes.enumerated() { unsafe place[index] = byte }
    }
    self.init(AF_UNIX, address)
  }

  private init?<Address>(_ family: Int32, _ address: Address) {
    socket = Glibc.socket(family, Int32(SOCK_STREAM.rawValue), 0)
    let result = unsafe withUnsafePointer(to: address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(socket, address, socklen_t(MemoryLayout<Address>.size))
      }
    }
    if result != 0 { return nil }
    var time = timeval(tv_sec: Self.patience, tv_usec: 0)
    unsafe setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(socket) }

  /// Whether all bytes could be sent.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Whether all characters could be sent.
  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Says that nothing more comes.
  func finish() { shutdown(socket, Int32(SHUT_WR)) }

  /// Ends the connection with a reset, as a client that is killed with unread bytes does.
  func reset() {
    var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(
      socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
  }

  /// Whether the server closes, or anything arrives, before so many milliseconds have passed.
  func hasNews(within milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) == 1
  }

  /// Reads more. `nil` at the end, and when the server has reset the connection.
  private func more() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    var count: Int
    // A socket whose patience is limited is not read on by itself after the process was stopped.
    repeat { count = unsafe recv(socket, &bytes, bytes.count, 0) } while count < 0 && errno == EINTR
    if count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) { throw Silence() }
    if count > 0 { received += bytes[..<count] }
    return count > 0
  }

  /// The server says nothing, neither more nor that it is done.
  struct Silence: Error {}

  /// The rest of what the server says until it closes.
  func rest() throws -> [UInt8] {
    while try more() {}
    defer { received = [] }
    return received
  }

  /// The next answer; `nil` if the server closes before it is whole.
  func answer(toHead: Bool = false) throws -> Answer? {
    while true {
      if let (answer, count) = Answer.parse(received, hasBody: !toHead) {
        received.removeFirst(count)
        if answer.status != 100 { return answer }
      } else if try !more() {
        return nil
      }
    }
  }

  /// Sends a request and reads the answer.
  func ask(
    _ method: String = "POST", _ target: String, headers: [String] = [], body: [UInt8] = []
  ) throws -> Answer? {
    let head =
      ["\(method) \(target) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"] + headers
    send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    return try answer()
  }
}

/// An answer as it came over the wire.
struct Answer: Equatable {
  var status: Int
  var headers: [String: String]
  var body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }

  /// `nil` if it is not whole yet.
  static func parse(_ bytes: [UInt8], hasBody: Bool) -> (Answer, Int)? {
    guard
      let end = bytes.indices.dropLast(3).first(where: {
        bytes[$0...].starts(with: [13, 10, 13, 10])
      })
    else { return nil }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
    let status = Int(lines[0].split(separator: " ")[1]) ?? 0
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    let size = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
    guard bytes.count >= end + 4 + size else { return nil }
    let body = Array(bytes[(end + 4)..<(end + 4 + size)])
    return (Answer(status: status, headers: headers, body: body), end + 4 + size)
  }
}
