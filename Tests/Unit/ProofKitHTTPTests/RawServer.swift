// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

/// A server on 127.0.0.1 that notes each request, and gives the bytes that the test says.
final class RawServer: Sendable {
  let port: UInt16
  let requests = CoreLock<[String]>([])
  private let listener: Int32
  private let answer = CoreLock<(bytes: [UInt8], ends: Bool)>(([], true))

  init() throws {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(file, $0, size) == 0 && listen(file, 16) == 0
          && getsockname(file, $0, &size) == 0
      }
    }
    guard isBound else { throw CocoaError(.featureUnsupported) }
    port = UInt16(bigEndian: address.sin_port)
    listener = file
    let (answer, requests) = (answer, requests)
    Thread { Self.serve(file, answer, requests) }.start()
  }

  deinit {
    // The thread closes it: until then no other file has its number.
    shutdown(listener, Int32(SHUT_RDWR))
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Gives this answer from now on. `ends`: the connection ends behind it.
  func say(_ text: String, _ body: [UInt8] = [], ends: Bool = false) {
    answer.withLock { $0 = (Array(text.utf8) + body, ends) }
  }

  /// The head of the last request, without the lines' ends, and its body.
  var last: (lines: [String], body: String) {
    let whole = requests.withLock { $0.last ?? "" }
    let parts = whole.components(separatedBy: "\r\n\r\n")
    return (
      parts[0].components(separatedBy: "\r\n"), parts.dropFirst().joined(separator: "\r\n\r\n")
    )
  }

  private static func serve(
    _ listener: Int32, _ answer: CoreLock<(bytes: [UInt8], ends: Bool)>,
    _ requests: CoreLock<[String]>
  ) {
    defer { close(listener) }
    while true {
      let line = accept(listener, nil, nil)
      guard line >= 0 else { return }
      Thread {
        while let request = Self.request(line) {
          requests.withLock { $0.append(request) }
          let (bytes, ends) = answer.withLock { $0 }
          var sent = 0
          while sent < bytes.count {
            let piece = Array(bytes[sent...])
            let more = unsafe send(line, piece, piece.count, Int32(MSG_NOSIGNAL))
            guard more > 0 else { break }
            sent += more
          }
          if ends || sent < bytes.count { break }
        }
        // The end of the connection, also while a new process of another test has it open.
        shutdown(line, Int32(SHUT_RDWR))
        close(line)
      }.start()
    }
  }

  /// A whole request; nil at the connection's end.
  private static func request(_ line: Int32) -> String? {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      if let head = text.range(of: "\r\n\r\n") {
        let length = text[..<head.lowerBound].components(separatedBy: "\r\n").compactMap { line in
          line.hasPrefix("Content-Length: ") ? Int(line.dropFirst(16)) : nil
        }.first
        if text[head.upperBound...].utf8.count >= length ?? 0 { return text }
      }
      let count = unsafe read(line, &piece, piece.count)
      guard count > 0 else { return nil }
      bytes += piece[..<count]
    }
  }
}
