// SPDX-License-Identifier: Apache-2.0

import BenchInstruments
import Glibc

/// Another program, found in PATH unless its name has a slash. It is ended, and waited for, with its owner.
@safe
final class Subprocess {
  private var process: pid_t
  private let output: Int32

  /// Where what it prints goes.
  enum Output { case nowhere, kept }

  /// Starts it.
  ///
  /// - Parameters:
  ///   - words: The program and its arguments.
  ///   - folder: Where it runs; nil for here.
  ///   - kept: Whether its standard output is to be read.
  ///   - isQuiet: Whether what it complains about is thrown away.
  /// - Throws: A ``PeerError`` if it does not start.
  init(
    _ words: [String], in folder: String? = nil, kept: Output = .nowhere, isQuiet: Bool = false
  ) throws {
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var process: pid_t = 0
    var output: Int32 = -1
    let result =
      kept == .kept
      ? unsafe bench_spawn(&process, &arguments, folder, isQuiet ? 1 : 0, &output)
      : unsafe bench_spawn(&process, &arguments, folder, isQuiet ? 1 : 0, nil)
    self.process = process
    self.output = output
    guard result == 0 else {
      throw PeerError("\(words[0]) does not start: \(unsafe String(cString: strerror(result)))")
    }
  }

  deinit {
    if process > 0 {
      _ = kill(process, SIGKILL)
      _ = waitpid(process, nil, 0)
    }
    if output >= 0 { close(output) }
  }

  /// The next line that it prints, or nil at the end.
  func line() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while unsafe read(output, &byte, 1) == 1 {
      if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
      bytes.append(byte)
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Everything that it prints from now on.
  func rest() -> String {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe read(output, &part, part.count)
      if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += part[..<count]
    }
  }

  /// Waits for its end.
  ///
  /// - Returns: Its status, or 128 and the signal that ended it.
  func end() -> Int {
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
    process = 0
    return status & 0x7F == 0 ? Int(status >> 8) & 0xFF : 128 + Int(status & 0x7F)
  }

  /// Runs a program to its end, and throws if that is not a good one.
  static func run(_ words: [String], in folder: String? = nil, isQuiet: Bool = false) throws {
    let status = try Subprocess(words, in: folder, isQuiet: isQuiet).end()
    guard status == 0 else { throw PeerError("\(words[0]) ended with status \(status)") }
  }

  /// Where a program is, or nil if it is not installed.
  static func find(_ program: String) -> String? {
    let folders = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin"
    return folders.split(separator: ":").map { "\($0)/\(program)" }
      .first { unsafe access($0, X_OK) == 0 }
  }
}
