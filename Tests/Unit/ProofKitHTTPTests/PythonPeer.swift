// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads

/// A Python program of `Tests/Process/Service` in a process of its own, asked in lines of JSON. It ends with its input, when the
/// test drops it.
final class PythonPeer {
  private let process: Process
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()

  /// Starts a program.
  init(_ arguments: [String], python: String = "/usr/bin/python3") throws {
    process = Self.process(arguments, python: python)
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Runs a program to its end.
  static func run(_ arguments: [String]) throws {
    let process = process(arguments, python: "/usr/bin/python3")
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.featureUnsupported) }
  }

  /// The next line of its output.
  func line() throws -> Data {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        defer { rest = Data(rest[(end + 1)...]) }
        return rest[..<end]
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
      rest += more
    }
  }

  /// Writes a command, and returns the line that answers it.
  @discardableResult
  func ask(_ command: [String: Any]) throws -> Data {
    let bytes = try JSONSerialization.data(withJSONObject: command)
    try input.fileHandleForWriting.write(contentsOf: bytes + Data("\n".utf8))
    return try line()
  }

  private static func process(_ arguments: [String], python: String) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Process/Service")
    process.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"]
    return process
  }
}
