// SPDX-License-Identifier: Apache-2.0

package import Foundation
import ProofModel

/// A process of this package, running beside the test, and what it says.
package final class RealProcess: Sendable {
  package struct Ended: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// Where the tests themselves were built.
  package static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  private let process = Process()
  private let said = CoreLock<[String]>([])
  private let reader: Task<Void, Never>

  /// Starts it, and returns when a line contains `greeting`, or when it has ended.
  package init(_ name: String, _ arguments: [String], until greeting: String? = nil) async throws {
    let pipe = Pipe()
    process.executableURL = Self.products.appendingPathComponent(name)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    let (lines, teller) = AsyncStream.makeStream(of: String.self)
    try process.run()
    let output = pipe.fileHandleForReading
    DispatchQueue(label: name).async {
      var rest: [UInt8] = []
      while true {
        let piece = output.availableData
        rest += piece
        while let end = rest.firstIndex(of: 0x0A) {
          teller.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest.removeFirst(end + 1)
        }
        if piece.isEmpty { break }
      }
      teller.finish()
    }
    var iterator = lines.makeAsyncIterator()
    while let line = await iterator.next() {
      said.withLock { $0.append(line) }
      if let greeting, line.contains(greeting) { break }
    }
    reader = Task { [said] in
      while let line = await iterator.next() { said.withLock { $0.append(line) } }
    }
  }

  package var lines: [String] { said.withLock { $0 } }

  package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Asks it to stop, or kills it; returns when it has ended and all it said was heard.
  package func end(_ signal: Int32 = SIGTERM) async {
    self.signal(signal)
    await reader.value
    process.waitUntilExit()
  }
}
