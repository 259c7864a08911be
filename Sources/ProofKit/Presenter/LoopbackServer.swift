// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Waits on 127.0.0.1 for the one address to which a page in the system's browser goes at its end.
///
/// Other programs of this machine, and other pages, can reach the port. They do not know the state, so they can end
/// nothing; connections, sizes and times are bounded, so they can hold nothing up but the page itself.
final class LoopbackServer: Sendable {
  static let connectionMax = 16
  static let headMax = 8192
  static let patience = Duration.seconds(5)

  let port: UInt16
  let state = Base64.encode(Salt.random().bytes, .url)
  private let socket: Int32
  private let alarm: (read: Int32, write: Int32)
  private let isCancelled = CoreLock(false)

  /// Listens; nil if the system gives no port.
  init?() {
    guard let (socket, port) = CoreSockets.listen() else { return nil }
    guard let alarm = CoreSockets.pair() else {
      CoreSockets.close(socket)
      return nil
    }
    self.socket = socket
    self.port = port
    self.alarm = alarm
  }

  deinit {
    for descriptor in [socket, alarm.read, alarm.write] { CoreSockets.close(descriptor) }
  }

  /// Ends the wait, now or later.
  func cancel() {
    isCancelled.withLock { $0 = true }
    CoreSockets.wake(alarm.write)
  }

  private struct Visitor {
    let socket: Int32
    let end: Duration
    var head: [UInt8] = []
  }

  /// Waits for the page's result, once.
  ///
  /// - Parameters:
  ///   - time: The longest wait.
  ///   - clock: Measures it.
  /// - Returns: The page's data, or its error; ``PresenterError/system`` after the time.
  func wait(for time: Duration, _ clock: AttestorClock = .system) -> Result<String, PresenterError>
  {
    let end = clock.uptime() + time
    var visitors: [Visitor] = []
    defer { for visitor in visitors { CoreSockets.close(visitor.socket) } }
    while clock.uptime() < end {
      if isCancelled.withLock({ $0 }) { return .failure(.cancelled) }
      let ready = CoreSockets.wait(
        [socket, alarm.read] + visitors.map(\.socket), milliseconds: 1000)
      let now = clock.uptime()
      var open: [Visitor] = []
      var result: Result<String, PresenterError>?
      for var visitor in visitors {
        let isOver = visitor.end <= now
        guard !isOver, result == nil, ready.contains(visitor.socket) else {
          if isOver { CoreSockets.close(visitor.socket) } else { open.append(visitor) }
          continue
        }
        switch read(&visitor) {
        case .more: open.append(visitor)
        case .end(let found):
          result = found
          CoreSockets.close(visitor.socket)
        }
      }
      visitors = open
      if let result { return result }
      while ready.contains(socket), let visitor = CoreSockets.accept(socket) {
        // A browser opens connections ahead of time. The oldest one makes room.
        if visitors.count == Self.connectionMax { CoreSockets.close(visitors.removeFirst().socket) }
        visitors.append(Visitor(socket: visitor, end: now + Self.patience))
      }
    }
    return .failure(.system)
  }

  private enum Reading {
    case more
    /// The connection's end, and the page's result if this was it.
    case end(Result<String, PresenterError>?)
  }

  private func read(_ visitor: inout Visitor) -> Reading {
    guard let bytes = CoreSockets.read(visitor.socket, upTo: 2048) else { return .more }
    guard !bytes.isEmpty else { return .end(nil) }
    visitor.head += bytes
    guard visitor.head.count <= Self.headMax else { return .end(nil) }
    guard visitor.head.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return .more }
    let result = LoopbackRequest(visitor.head, port: port, state: state)?.result
    CoreSockets.write(LoopbackRequest.answer(isDone: result != nil), to: visitor.socket)
    return .end(result)
  }
}

/// The request that brings a page's result: `GET /done?state=…&data=…` or `&code=…`.
struct LoopbackRequest {
  let result: Result<String, PresenterError>

  /// Reads a request's head; nil for every other one.
  init?(_ head: [UInt8], port: UInt16, state: String) {
    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
    let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == "GET", words[2] == "HTTP/1.1" else { return nil }
    // A page that has its own name lead to this address sends its own name.
    let hosts = lines.dropFirst().filter { $0.lowercased().hasPrefix("host:") }
    guard hosts.count == 1, hosts[0].dropFirst(5).drop(while: { $0 == " " }) == "127.0.0.1:\(port)"
    else { return nil }
    let path = "/done?"
    guard words[1].hasPrefix(path) else { return nil }
    var members: [Substring: Substring] = [:]
    for item in words[1].dropFirst(path.count).split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, members[parts[0]] == nil else { return nil }
      members[parts[0]] = parts[1]
    }
    guard members.count == 2, members["state"]?.elementsEqual(state) == true else { return nil }
    if let data = members["data"], data.utf8.count <= 1024 {
      result = .success(String(data))
    } else if let code = members["code"] {
      result = .failure(PresenterError(code: String(code)) ?? .abnormalData)
    } else {
      return nil
    }
  }

  /// The answer to a browser.
  static func answer(isDone: Bool) -> [UInt8] {
    let text =
      isDone
      ? "<!doctype html><html lang=en><meta charset=utf-8><title>Done</title><p>Done. You can close this page.\n"
      : "Not found.\n"
    let kind = isDone ? "text/html; charset=utf-8" : "text/plain"
    return Array(
      """
      HTTP/1.1 \(isDone ? "200 OK" : "404 Not Found")\r
      Content-Type: \(kind)\r
      Content-Length: \(text.utf8.count)\r
      Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r
      Cache-Control: no-store\r
      Referrer-Policy: no-referrer\r
      Connection: close\r
      \r
      \(text)
      """.utf8)
  }
}
