// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc

/// A process of the story. It ends with the story at the latest.
final class Child {
  /// The timeout for one line of output. It passes only if the process hangs.
  static let patience = DispatchTimeInterval.seconds(60)

  let name: String
  private let process = Process()
  private let input = Pipe()
  private let output: Lines
  private let errors: Lines
  private let cast: Cast

  /// Starts a program in a clean environment.
  init(
    _ name: String, _ program: String, _ arguments: [String], in cast: Cast,
    environment: [String: String] = [:]
  ) throws {
    self.name = name
    self.cast = cast
    let out = Pipe(), error = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = Cast.environment.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = out
    process.standardError = error
    do {
      try cast.start(process)
    } catch let failure as StageFailure {
      throw failure
    } catch {
      throw StageFailure("\(program) does not start: \(error.localizedDescription)")
    }
    output = Lines(out.fileHandleForReading, name: "\(name) output")
    errors = Lines(error.fileHandleForReading, name: "\(name) errors")
  }

  var isRunning: Bool { process.isRunning }

  /// The next line of standard output.
  func line() throws -> String {
    guard let line = output.next(within: Self.patience) else { throw silence("say anything") }
    return line
  }

  /// Waits for a line that contains a text: of standard output, or of standard error.
  @discardableResult
  func line(with text: String, onErrors: Bool = false) throws -> String {
    let lines = onErrors ? errors : output
    while let line = lines.next(within: Self.patience) {
      if line.contains(text) { return line }
    }
    throw silence("say \"\(text)\"")
  }

  /// The next line of standard error that contains a text; nil if none comes in time.
  func line(withErrors text: String) -> String? {
    while let line = errors.next(within: Self.patience) {
      if line.contains(text) { return line }
    }
    return nil
  }

  /// Skips the standard error so far.
  func skip() { errors.skip() }

  /// Writes a line to its standard input.
  func tell(_ line: String) throws {
    do {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    } catch {
      throw silence("listen")
    }
  }

  /// Closes its standard input and waits for its end.
  func close() {
    try? input.fileHandleForWriting.close()
    wait()
  }

  /// Asks it to end (SIGTERM) and waits until it has.
  func stop() {
    if process.isRunning { process.terminate() }
    wait()
  }

  /// Ends it at once, as a power cut would.
  func cut() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    wait()
  }

  private func wait() { cast.wait(for: process) }

  /// The rest of its output, once it has ended.
  func rest() -> [String] {
    var lines: [String] = []
    while let line = output.next(within: Self.patience) { lines.append(line) }
    return lines
  }

  private func silence(_ what: String) -> StageFailure {
    let said = (output.tail + errors.tail).suffix(6).map { "\n  \($0)" }.joined()
    let state = process.isRunning ? "is running" : "ended with status \(process.terminationStatus)"
    return StageFailure(
      "\(name) did not \(what); it \(state)." + (said.isEmpty ? "" : " It said:\(said)"))
  }
}
