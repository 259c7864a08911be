// SPDX-License-Identifier: Apache-2.0

/// The task of the calling thread.
enum CoreTask {
  /// Whether the calling thread runs a task.
  static var isHere: Bool { unsafe withUnsafeCurrentTask { task in unsafe task != nil } }
}
