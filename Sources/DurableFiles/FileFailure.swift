// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A system call on a file or folder that failed.
package struct FileFailure: Error, Sendable, Hashable {
  /// The operation that failed, such as `write`.
  package let operation: String
  /// The object of the operation: a path, or a name within the folder.
  package let name: String
  /// The system's error number, such as ENOSPC.
  package let code: Int32
  /// The next step, if this library refused and not the system.
  package let advice: String?

  package init(_ operation: String, _ name: String, code: Int32, advice: String? = nil) {
    self.operation = operation
    self.name = name
    self.code = code
    self.advice = advice
  }

  /// Another process is at work on it.
  package static func busy(_ name: String) -> FileFailure {
    FileFailure("lock", name, code: EBUSY)
  }

  /// Whether the file is missing.
  package var isMissing: Bool { code == ENOENT }
  /// Whether the file is longer than its reader allows.
  package var isTooLong: Bool { code == EFBIG }

  /// The next step, or the system's words for its number.
  package var reason: String {
    if let advice { return advice }
    return unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

extension FileFailure: CustomStringConvertible {
  /// Operation, name and the system's reason; or the name and the next step.
  package var description: String {
    advice == nil ? "\(operation) \(name): \(reason)" : "\(name): \(reason)"
  }
}
