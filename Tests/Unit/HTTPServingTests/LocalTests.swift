// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import Testing

/// Unix sockets: the folder and the mode decide who reaches the server.
@Suite("HTTP server: on a Unix socket")
final class LocalTests {
  private let folder = "/tmp/http-\(UUID().uuidString.prefix(8))"
  private var path: String { "\(folder)/socket" }

  init() throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func server(_ path: String, mode: UInt32 = 0o660) throws -> HTTPServer {
    try HTTPServer {
      $0.address = "unix:\(path)"
      $0.socketMode = mode
    }
  }

  private func mode(of path: String) throws -> Int? {
    let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    return (found as? NSNumber)?.intValue
  }

  private func refusal(_ path: String) -> HTTPServerError? {
    #expect(throws: HTTPServerError.self) { try server(path) }
  }

  private func cannotListen(_ path: String, _ code: Int32, _ reason: String) -> HTTPServerError {
    .cannotListen(address: "unix:\(path)", port: 0, code: code, reason: reason)
  }

  @Test("Requests are served, as those of a trusted proxy, and the name goes with the server")
  func served() throws {
    let server = try server(path)
    #expect(server.port == 0)
    let wire = try #require(Wire(at: path))
    let answer = try wire.ask("POST", "/a", body: Array("hello".utf8))
    #expect(answer?.status == 200 && answer?.text == "hello" && answer?.headers["x-peer"] == nil)
    for (forwarded, peer) in [
      ("198.51.100.7", "198.51.100.7"), ("10.0.0.1, 198.51.100.8", "198.51.100.8"), ("x", nil),
    ] as [(String, String?)] {
      let told = try wire.ask("GET", "/", headers: ["X-Forwarded-For: \(forwarded)"])
      #expect(told?.headers["x-peer"] == peer, "\(forwarded)")
    }
    #expect(server.stop())
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(Wire(at: path) == nil)
  }

  @Test("Connections have no limit for one address, which they do not have")
  func connections() throws {
    let server = try HTTPServer {
      $0.address = "unix:\(path)"
      $0.limits.connectionsPerAddress = 1
    }
    let wires = try (0..<5).map { _ in try #require(Wire(at: path)) }
    for wire in wires { #expect(try wire.ask("GET", "/")?.status == 200) }
    for wire in wires { #expect(try wire.ask("GET", "/")?.status == 200) }
    #expect(server.counts.connectionsDisplaced == 0)
  }

  @Test("A socket has the mode that was asked for", arguments: [0o600, 0o660, 0o666, 0o777, 0o601])
  func modes(mode: UInt32) throws {
    let server = try server(path, mode: mode)
    #expect(try self.mode(of: path) == Int(mode))
    server.stop(draining: .zero)
  }

  @Test("A folder that others than its owner may write to is no place for a socket")
  func folders() throws {
    for bit in 0..<9 {
      let mode = 0o700 | 1 << bit
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
      guard [1, 4].contains(bit) else {
        try server(path).stop(draining: .zero)
        continue
      }
      #expect(
        refusal(path) == cannotListen(path, EPERM, "Operation not permitted"),
        "\(String(mode, radix: 8))")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
    let lost = "\(folder)/none/socket"
    #expect(refusal(lost) == cannotListen(lost, ENOENT, "No such file or directory"))
  }

  @Test("A socket that a killed process left is replaced; one that is in use, or a file, is not")
  func leftovers() throws {
    let first = try server(path)
    #expect(refusal(path) == cannotListen(path, EADDRINUSE, "Address already in use"))
    #expect(try Wire(at: path)?.ask("GET", "/")?.status == 200, "the first one goes on")
    first.stop()
    // Bound and never listened on: as dead as one whose process was killed.
    let dead = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(dead) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (index, byte) in bytes.enumerated() { unsafe place[index] = byte }
    }
    let bound = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(dead, address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0 && FileManager.default.fileExists(atPath: path))
    let second = try server(path)
    #expect(try Wire(at: path)?.ask("GET", "/")?.status == 200)
    second.stop()
    try Data([7]).write(to: URL(filePath: path))
    #expect(refusal(path) == cannotListen(path, EADDRINUSE, "Address already in use"))
    #expect(try Data(contentsOf: URL(filePath: path)) == Data([7]))
  }

  @Test("A path has 1 to 107 bytes")
  func lengths() throws {
    let longest = folder + "/" + String(repeating: "s", count: 107 - folder.utf8.count - 1)
    let server = try server(longest)
    #expect(try Wire(at: longest)?.ask("GET", "/")?.status == 200)
    server.stop()
    for path in ["", longest + "s"] {
      #expect(refusal(path) == .address("unix:\(path)"))
    }
  }
}
