// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization

/// The lines that a process writes, read as they come, so that no pipe fills up.
final class Lines: Sendable {
  private struct State {
    var waiting: [String] = []
    var last: [String] = []
    var isOver = false
  }

  private static let keptCount = 20

  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)

  /// Reads until the other end is closed, on a thread of its own.
  init(_ file: FileHandle, name: String) {
    let source = Source(file: file)
    DispatchQueue(label: name).async { [self] in
      var rest: [UInt8] = []
      while true {
        let data = source.file.availableData
        guard !data.isEmpty else { break }
        rest += data
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          add(String(decoding: rest[..<end], as: UTF8.self))
          rest.removeSubrange(...end)
        }
      }
      if !rest.isEmpty { add(String(decoding: rest, as: UTF8.self)) }
      state.withLock { $0.isOver = true }
      arrived.signal()
    }
  }

  /// The next line.
  ///
  /// - Parameter time: The longest time to wait for it.
  /// - Returns: The line; nil if none came in time, or the output has ended.
  func next(within time: DispatchTimeInterval) -> String? {
    guard arrived.wait(timeout: .now() + time) == .success else { return nil }
    return state.withLock { state in
      if state.waiting.isEmpty {
        // Keep the end signalled for later calls.
        if state.isOver { arrived.signal() }
        return nil
      }
      return state.waiting.removeFirst()
    }
  }

  /// Skips the lines so far.
  func skip() {
    while arrived.wait(timeout: .now()) == .success {
      let isLine = state.withLock { state in
        if !state.waiting.isEmpty {
          state.waiting.removeFirst()
          return true
        }
        return false
      }
      // Leave the end signalled for later readers.
      if !isLine {
        arrived.signal()
        return
      }
    }
  }

  /// The last lines, also those that were already read: for the words of a failure.
  var tail: [String] { state.withLock { $0.last } }

  private func add(_ line: String) {
    state.withLock { state in
      state.waiting.append(line)
      state.last.append(line)
      if state.last.count > Self.keptCount { state.last.removeFirst() }
    }
    arrived.signal()
  }

  /// Only the reading thread touches the file.
  private struct Source: @unchecked Sendable {
    let file: FileHandle
  }
}
