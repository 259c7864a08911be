// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Names of files by a pattern.
enum FileNames {
  /// The names that a pattern of the shell stands for, sorted; none if it stands for none.
  static func matching(_ pattern: String) -> [String] {
    var found = unsafe glob_t()
    defer { unsafe globfree(&found) }
    guard unsafe glob(pattern, 0, nil, &found) == 0 else { return [] }
    return unsafe (0..<Int(found.gl_pathc)).compactMap { index in
      unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
    }
  }
}
