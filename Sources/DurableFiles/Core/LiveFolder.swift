// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A folder of this machine. All calls are relative to the folder as it was opened, even if its
/// path leads elsewhere later.
package final class LiveFolder: FolderAccess {
  package let path: String
  private let folder: Int32

  /// Opens a folder, made for its owner alone if it is not there.
  ///
  /// - Throws: ``FileFailure``; EPERM if the folder belongs to another user, or others may write in
  ///   it.
  package init(_ path: String) throws(FileFailure) {
    self.path = path
    try Self.make(path)
    let folder = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw FileFailure("open", path, code: errno) }
    self.folder = folder
    var status = stat()
    guard unsafe fstat(folder, &status) == 0 else {
      throw FileFailure("look at", path, code: errno)
    }
    guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw FileFailure(
        "trust", path, code: EPERM,
        advice: "belongs to another user, or others can write in it. Say: chmod go-w \(path)")
    }
  }

  deinit { _ = Glibc.close(folder) }

  package func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    try read(name, from: 0, limit: limit)
  }

  package func read(
    _ name: String, from offset: Int, limit: Int
  ) throws(FileFailure) -> [UInt8]? {
    // Do not block: a FIFO in place of a file must not hang its reader.
    let file = unsafe openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw FileFailure("open", name, code: errno)
    }
    defer { _ = Glibc.close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw FileFailure("read", name, code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FileFailure("read", name, code: EINVAL)
    }
    guard offset == 0 || lseek(file, off_t(offset), SEEK_SET) == off_t(offset) else {
      throw FileFailure("read", name, code: errno)
    }
    return try SmallFile.bytes(of: file, name: name, limit: limit)
  }

  package func create(_ name: String) throws(FileFailure) -> OpenFile {
    try opened(name, O_WRONLY | O_CREAT | O_EXCL)
  }

  package func openAtEnd(_ name: String) throws(FileFailure) -> OpenFile {
    try opened(name, O_WRONLY | O_CREAT | O_APPEND)
  }

  package func write(
    _ bytes: ArraySlice<UInt8>, to file: OpenFile
  ) throws(FileFailure) -> Int {
    while true {
      let count = unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe Glibc.write(file.number, buffer.baseAddress, buffer.count)
      }
      if count > 0 { return count }
      if count < 0, errno == EINTR { continue }
      throw FileFailure("write", path, code: count < 0 ? errno : EIO)
    }
  }

  package func synchronize(_ file: OpenFile) throws(FileFailure) {
    guard fsync(file.number) == 0 else { throw FileFailure("synchronize", path, code: errno) }
  }

  package func close(_ file: OpenFile) { _ = Glibc.close(file.number) }

  package func rename(_ name: String, to other: String) throws(FileFailure) {
    guard unsafe renameat(folder, name, folder, other) == 0 else {
      throw FileFailure("rename", name, code: errno)
    }
  }

  package func remove(_ name: String) throws(FileFailure) {
    guard unsafe unlinkat(folder, name, 0) == 0 || errno == ENOENT else {
      throw FileFailure("remove", name, code: errno)
    }
  }

  package func exists(_ name: String) throws(FileFailure) -> Bool {
    var status = stat()
    if unsafe fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return true }
    guard errno == ENOENT else { throw FileFailure("look at", name, code: errno) }
    return false
  }

  package func synchronizeFolder() throws(FileFailure) {
    guard fsync(folder) == 0 else { throw FileFailure("synchronize", path, code: errno) }
  }

  private func opened(_ name: String, _ flags: Int32) throws(FileFailure) -> OpenFile {
    let file = unsafe openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    guard file >= 0 else { throw FileFailure("create", name, code: errno) }
    // Set the mode whatever the process's mask is.
    guard fchmod(file, 0o600) == 0 else {
      let code = errno
      _ = Glibc.close(file)
      throw FileFailure("protect", name, code: code)
    }
    return OpenFile(file)
  }

  /// Makes a folder and its parents, each on the medium before the next.
  private static func make(_ path: String) throws(FileFailure) {
    if unsafe mkdir(path, 0o700) == 0 {
      try synchronizeParent(of: path)
      return
    }
    guard errno != EEXIST else { return }
    guard errno == ENOENT, let parent = parent(of: path) else {
      throw FileFailure("make", path, code: errno)
    }
    try make(parent)
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw FileFailure("make", path, code: errno)
    }
    try synchronizeParent(of: path)
  }

  /// Synchronises a path's parent folder, so that the name is on the medium.
  static func synchronizeParent(of path: String) throws(FileFailure) {
    let parent = parent(of: path) ?? "."
    let folder = unsafe Glibc.open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // A parent that may be entered but not listed cannot be synchronised; the folder exists.
    guard folder >= 0 else { return }
    defer { _ = Glibc.close(folder) }
    guard fsync(folder) == 0 else { throw FileFailure("synchronize", parent, code: errno) }
  }

  private static func parent(of path: String) -> String? {
    var name = path[...]
    while name.count > 1, name.last == "/" { name = name.dropLast() }
    guard let slash = name.lastIndex(of: "/") else { return nil }
    let parent = name[..<slash]
    return parent.isEmpty ? "/" : String(parent)
  }
}
