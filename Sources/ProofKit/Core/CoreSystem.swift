// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
internal import Glibc

/// Facts from the operating system about itself and this process.
enum CoreSystem {
  /// Kernel release and machine, such as `6.1.0-18-amd64` and `x86_64`.
  static var kernel: (release: String, machine: String) {
    var names = utsname()
    guard unsafe uname(&names) == 0 else { return ("", "") }
    return (text(of: names.release), text(of: names.machine))
  }

  /// The file name of the running executable.
  static var executableName: String {
    var path = [UInt8](repeating: 0, count: 4096)
    let count = unsafe path.withUnsafeMutableBytes { buffer in
      unsafe readlink(
        "/proc/self/exe", buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    guard count > 0 else { return "" }
    let names = path[..<count].split(separator: UInt8(ascii: "/"))
    return String(decoding: names.last ?? [], as: UTF8.self)
  }

  /// The operating system's name for people, from the first of these files that has one.
  static func operatingSystem(
    of files: [String] = ["/etc/os-release", "/usr/lib/os-release"]
  ) -> String {
    for path in files {
      guard let bytes = try? SmallFile.beginning(of: path, byteCount: 65_536) else { continue }
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        let text = String(decoding: line, as: UTF8.self)
        guard text.hasPrefix("PRETTY_NAME=") else { continue }
        return text.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" && $0 != "'" }
      }
    }
    return "Linux"
  }

  /// The way this process was started.
  static var launch: Activity.Launch {
    // Read the environment as it was at the start: toolkits remove the token from their own.
    let start = (try? SmallFile.beginning(of: "/proc/self/environ", byteCount: 1 << 20)) ?? []
    let names = ["XDG_ACTIVATION_TOKEN=", "DESKTOP_STARTUP_ID="].map { Array($0.utf8) }
    for entry in start.split(separator: 0) {
      // A variable with an empty value is no token.
      if names.contains(where: { entry.starts(with: $0) && entry.count > $0.count }) {
        return .desktop
      }
    }
    let terminal = unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard terminal >= 0 else { return .other }
    defer { _ = close(terminal) }
    return tcgetpgrp(terminal) == getpgrp() ? .terminal : .other
  }

  /// A C array of characters up to its terminator.
  private static func text<Tuple>(of tuple: Tuple) -> String {
    unsafe withUnsafeBytes(of: tuple) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
