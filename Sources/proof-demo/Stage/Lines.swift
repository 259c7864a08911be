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
  private let source: Source
  /// The beginning of a line. The holder of the lock reads, and adds what it has read before it lets go.
  private let rest = Mutex<[UInt8]>([])

  /// Reads until the other end is closed, on a thread of its own.
  init(_ file: FileHandle, name: String) {
    source = Source(file: file)
    DispatchQueue(label: name).async { [self] in
      while source.isReady(within: -1), rest.withLock({ read(&$0) }) {}
    }
  }

  /// Adds the lines that the process has written by now.
  ///
  /// - Returns: Whether it may write more.
  private func read(_ rest: inout [UInt8]) -> Bool {
    while source.isReady(within: 0) {
      if state.withLock({ $0.isOver }) { return false }
      let data = source.file.availableData
      guard !data.isEmpty else {
        if !rest.isEmpty { add(String(decoding: rest, as: UTF8.self)) }
        state.withLock { $0.isOver = true }
        arrived.signal()
        return false
      }
      rest += data
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        add(String(decoding: rest[..<end], as: UTF8.self))
        rest.removeSubrange(...end)
      }
    }
    return true
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

  /// Skips the lines so far: all that the process had written when the call began.
  func skip() {
    _ = rest.withLock { read(&$0) }
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

  /// Only the holder of the lock of `rest` reads the file.
  private struct Source: @unchecked Sendable {
    let file: FileHandle

    /// Whether a read would return at once. A negative time in milliseconds waits without end.
    func isReady(within milliseconds: Int32) -> Bool {
      var entry = pollfd(fd: file.fileDescriptor, events: Int16(POLLIN), revents: 0)
      while true {
        let count = unsafe poll(&entry, 1, milliseconds)
        if count >= 0 || errno != EINTR { return count > 0 }
      }
    }
  }
}
