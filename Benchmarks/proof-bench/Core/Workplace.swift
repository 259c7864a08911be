// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The folders that a run needs: below `.build`, where the disk is a real one.
enum Workplace {
  /// A folder of this process, made empty. It is taken away when the process ends by `clear`.
  static func folder(_ name: String) throws -> String {
    let path = "\(try root())/\(name)"
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw PeerError("\(path) cannot be made: \(unsafe String(cString: strerror(errno)))")
    }
    return path
  }

  static func clear() {
    if let root = try? root() { try? Subprocess.run(["rm", "-r", "-f", root]) }
  }

  /// The trees that are measured, which are kept.
  static let trees = ".build/probe-bench"

  /// The folder where this program stands: what was built with it stands there too.
  static var programs: String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe readlink(
        "/proc/self/exe", buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    let path = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  static func isThere(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// Writes a file that only this user may read.
  static func write(_ bytes: [UInt8], to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw PeerError("\(path) cannot be written") }
    defer { close(file) }
    guard unsafe Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw PeerError("\(path) was not written to its end")
    }
  }

  static var here: String {
    unsafe getcwd(nil, 0).map { path in
      defer { unsafe free(path) }
      return unsafe String(cString: path)
    } ?? "."
  }

  private static func root() throws -> String {
    let path = "\(here)/.build/proof-bench-\(getpid())"
    _ = unsafe mkdir("\(here)/.build", 0o755)
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw PeerError("\(path) cannot be made: \(unsafe String(cString: strerror(errno)))")
    }
    return path
  }
}
