// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The exclusive right to use a folder, for as long as the value lives.
///
/// It is a kernel lock on an open file (flock). It ends when its process ends, for any reason, and
/// it also excludes a second user in the same process.
package final class FolderLock: Sendable {
  /// The reason why the lock was not taken.
  package enum Refusal: Error, Sendable, Hashable {
    /// Another process has it: the one of this number, if the lock's file names it.
    case held(by: Int32?)
    /// The lock's file cannot be used.
    case failed(FileFailure)
  }

  private let file: Int32
  private let owner = getpid()

  /// Takes the lock, or throws the holder's process id.
  ///
  /// - Parameters:
  ///   - path: The lock's file, made if it is not there. It is never removed, because locks on
  ///     different files of one name do not exclude each other.
  ///   - milliseconds: The longest wait for another user to end; 0 to fail at once.
  ///   - pause: Waits for a millisecond; nil for the system's clock.
  /// - Throws: ``Refusal``.
  package init(
    _ path: String, waiting milliseconds: Int = 0, pause: (() -> Void)? = nil
  ) throws(Refusal) {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
    let file = unsafe open(path, flags, mode_t(0o600))
    guard file >= 0 else { throw .failed(FileFailure("open", path, code: errno)) }
    var waited = 0
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR { continue }
      // The kernel's own wait has no timeout: it would wait for ever for a stopped process.
      if code == EWOULDBLOCK, waited < milliseconds {
        waited += 1
        if let pause { pause() } else { usleep(1_000) }
        continue
      }
      let holder = code == EWOULDBLOCK ? Self.holder(file) : nil
      _ = close(file)
      guard code == EWOULDBLOCK else { throw .failed(FileFailure("lock", path, code: code)) }
      throw .held(by: holder)
    }
    self.file = file
    // Set the mode whatever this process's mask is, so that the next process can open the file.
    var status = stat()
    if unsafe fstat(file, &status) == 0, status.st_mode & 0o777 != 0o600 {
      _ = fchmod(file, 0o600)
    }
    // The process id is for people only; the lock needs no content. It is written over the earlier
    // one at full length and the file is never cut: ext4 may wait for its journal then.
    var text = Array("\(owner)".utf8)
    text += repeatElement(UInt8(ascii: "\n"), count: Self.byteCount - text.count)
    _ = unsafe pwrite(file, text, text.count, 0)
  }

  /// The length of the lock's file: the longest process id and line ends.
  private static let byteCount = 16

  deinit {
    // A process that was forked meanwhile has the open file, too, and keeps the lock until it ends.
    // It must not end the lock of its parent.
    if getpid() == owner { _ = flock(file, LOCK_UN) }
    _ = close(file)
  }

  private static func holder(_ file: Int32) -> Int32? {
    var text = [UInt8](repeating: 0, count: byteCount)
    let count = unsafe pread(file, &text, text.count, 0)
    guard count > 1 else { return nil }
    return Int32(String(decoding: text[..<count].prefix { $0 != 10 }, as: UTF8.self))
  }
}
