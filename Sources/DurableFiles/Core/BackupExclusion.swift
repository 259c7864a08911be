// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Marks a folder for backup programs to leave out.
package enum BackupExclusion {
  /// The file by which tar (`--exclude-caches`), borg, restic and others know a folder to skip.
  package static let tagName = "CACHEDIR.TAG"

  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # Measurements belong to one device and one moment. Put back from a backup they are refused;
    # so backups leave this folder out. It is not a cache: whoever deletes it must go online again.

    """

  /// Marks a folder, as far as the file system allows. A folder works without the mark as well. The
  /// caller holds the folder's ``FolderLock``.
  package static func mark(_ access: some FolderAccess) {
    guard (try? access.exists(tagName)) == false else { return }
    // Write it whole or not at all: a mark that a power cut emptied would exist and mark nothing.
    try? DurableFolder(access).replace(tagName, with: Array(tag.utf8))
  }

  /// The folder for state that belongs to this user on this machine. State is neither configuration
  /// nor data that a person would carry to another machine.
  ///
  /// - Returns: `$XDG_STATE_HOME`, or else `$HOME/.local/state`; nil if neither variable is set.
  package static var stateFolder: String? {
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state }
    return environment("HOME").map { $0 + "/.local/state" }
  }

  private static func environment(_ name: String) -> String? {
    guard let text = unsafe getenv(name).map({ unsafe String(cString: $0) }), !text.isEmpty else {
      return nil
    }
    return text
  }
}
