internal import Glibc

/// Small files of the app: whole or not at all.
enum CoreFile {
  struct Failure: Error {
    let words: String

    init(_ doing: String, _ path: String, _ number: Int32 = errno) {
      words = path + ": " + doing + ": " + (unsafe String(cString: strerror(number)))
    }

    init(words: String) { self.words = words }
  }

  /// Refuses what is no folder, or cannot be read.
  static func checkFolder(_ path: String) throws(Failure) {
    let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw Failure("is no folder that can be opened", path) }
    close(folder)
  }

  /// The bytes of a file, or nil if there is none. Of a longer one the first `limit + 1` bytes.
  static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw Failure("cannot be opened", path)
    }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(file, buffer.baseAddress! + count, buffer.count - count)
      }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { throw Failure("cannot be read", path) }
      if got == 0 { break }
      count += got
    }
    return Array(bytes.prefix(count))
  }

  /// Replaces a file in one step: after a power cut the old one or the new one is there. Open to this
  /// user alone.
  static func replace(_ path: String, _ bytes: [UInt8]) throws(Failure) {
    // No other process writes to this one's name; what an earlier one left there is overwritten.
    let draft = path + ".\(getpid()).new"
    let file = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Failure("cannot be made", draft) }
    var failure: Failure?
    if fchmod(file, 0o600) != 0 { failure = Failure("cannot be closed to others", draft) }
    var count = 0
    while failure == nil && count < bytes.count {
      let put = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(file, buffer.baseAddress! + count, buffer.count - count)
      }
      if put < 0 && errno == EINTR { continue }
      if put < 0 { failure = Failure("cannot be written", draft) } else { count += put }
    }
    if failure == nil && fsync(file) != 0 { failure = Failure("cannot be written", draft) }
    if close(file) != 0 && failure == nil { failure = Failure("cannot be written", draft) }
    if failure == nil, unsafe rename(draft, path) != 0 {
      failure = Failure("cannot be replaced", path)
    }
    if let failure {
      _ = unsafe unlink(draft)
      throw failure
    }
    try synchronizeFolder(of: path)
  }

  /// Gives a file a name that nothing has yet and that ends in `.damaged`.
  static func setAside(_ path: String) throws(Failure) {
    for number in 1...1000 {
      let name = path + (number == 1 ? ".damaged" : ".\(number).damaged")
      // A link does not replace what is there, as a renaming would.
      if unsafe link(path, name) == 0 {
        guard unsafe unlink(path) == 0 else { throw Failure("cannot be set aside", path) }
        return try synchronizeFolder(of: path)
      }
      guard errno == EEXIST else { throw Failure("cannot be set aside", path) }
    }
    throw Failure(words: path + ": a thousand damaged files are kept beside it")
  }

  private static func synchronizeFolder(of path: String) throws(Failure) {
    let name = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    let folder = unsafe open(name.isEmpty ? "/" : name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw Failure("cannot be opened", name) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw Failure("cannot be written", name) }
  }
}
