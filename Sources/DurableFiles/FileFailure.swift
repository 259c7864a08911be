internal import Glibc

/// A system call on a file or folder that failed.
package struct FileFailure: Error, Sendable, Hashable {
  /// What was to be done, such as `write`.
  package let operation: String
  /// On what: a path, or a name within the folder.
  package let name: String
  /// The system's number, such as ENOSPC.
  package let code: Int32

  package init(_ operation: String, _ name: String, code: Int32) {
    self.operation = operation
    self.name = name
    self.code = code
  }

  /// Somebody else is at work on it.
  package static func busy(_ name: String) -> FileFailure {
    FileFailure("lock", name, code: EBUSY)
  }

  /// Whether the file is missing.
  package var isMissing: Bool { code == ENOENT }
  /// Whether the file is longer than its reader takes.
  package var isTooLong: Bool { code == EFBIG }

  /// The system's words for its number.
  package var reason: String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

extension FileFailure: CustomStringConvertible {
  /// What failed, on what, and why.
  package var description: String { "\(operation) \(name): \(reason)" }
}
