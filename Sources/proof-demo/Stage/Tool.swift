// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs programs of this build, and those of the machine, to their end.
struct Tool {
  private let cast: Cast
  private let folder: String

  private static let programs = [
    "proofctl", "proof-service", "proof-unlock", "proof-shop", "proof-hardware", "proof-relay",
    "proof-child", "proof-tracer", "proof-elsewhere", "libDemoPreload.so",
  ]

  init(_ cast: Cast) throws {
    self.cast = cast
    folder = Cast.programs
    for name in Self.programs {
      guard FileManager.default.isExecutableFile(atPath: path(name)) else {
        throw StageFailure("\(path(name)) is not there: `make demo` builds everything")
      }
    }
  }

  /// The path of a program of this build.
  func path(_ name: String) -> String { folder + "/" + name }

  /// Runs the operator's tool and reads its answer.
  func operate<Answer: Decodable>(
    _ arguments: [String], as type: Answer.Type, ending statuses: Set<Int32> = [0]
  ) throws -> Answer {
    let output = try run(path("proofctl"), arguments + ["--json"], ending: statuses)
    return try JSONDecoder().decode(type, from: output)
  }

  /// Runs the operator's tool for its effect alone.
  func operate(_ arguments: [String]) throws {
    _ = try run(path("proofctl"), arguments + ["--json"])
  }

  /// Runs a program found in PATH.
  @discardableResult
  func run(command: [String]) throws -> Data { try run("/usr/bin/env", command) }

  /// Runs a program of this build.
  @discardableResult
  func run(
    _ program: String, _ arguments: [String], ending statuses: Set<Int32> = [0]
  ) throws -> Data {
    let process = Process()
    let output = Pipe(), errors = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = Cast.environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    try cast.start(process)
    let words = Lines(errors.fileHandleForReading, name: "words")
    let data = output.fileHandleForReading.readDataToEndOfFile()
    cast.wait(for: process)
    guard statuses.contains(process.terminationStatus) else {
      let command = ([program] + arguments.prefix(2)).joined(separator: " ")
      while words.next(within: .seconds(1)) != nil {}
      let said = words.tail.suffix(4).map { "\n  \($0)" }.joined()
      throw StageFailure("\(command) ended with status \(process.terminationStatus)\(said)")
    }
    return data
  }
}
