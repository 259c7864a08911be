// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Every process of the story and the folder they use. Both end with the story.
final class Cast {
  /// The environment of the programs of the story. The user's own settings are left out, because
  /// they would be measured too.
  static let environment: [String: String] = {
    var kept = ProcessInfo.processInfo.environment.filter { name, _ in
      ["HOME", "PATH", "TMPDIR"].contains(name)
    }
    kept["LANG"] = "C.UTF-8"
    return kept
  }()

  /// The folder of this build's programs.
  static let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// The folder. It is removed at the end unless it is to be kept.
  let folder: String
  let interruption = Interruption()
  private var running: [pid_t: Process] = [:]

  /// Makes a temporary folder, or one that is to be kept.
  init(keeping kept: String? = nil) throws {
    folder =
      kept.map { URL(fileURLWithPath: $0).path }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent(
        "proof-demo-\(UUID().uuidString.prefix(8))"
      ).path
    guard !FileManager.default.fileExists(atPath: folder) else {
      throw StageFailure("\(folder) is there already: name a folder that is to be made")
    }
    try PrivateFiles.makeFolder(folder)
  }

  /// Starts a process, unless the story was interrupted.
  ///
  /// If the demonstration's process is killed, the kernel ends this one too. Call this on the main
  /// thread: to the kernel, the parent is the thread that starts it.
  func start(_ process: Process) throws {
    let program = process.executableURL?.path ?? ""
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw StageFailure("\(program) does not start: it is no program")
    }
    process.arguments = ["\(getpid())", program] + (process.arguments ?? [])
    process.executableURL = URL(fileURLWithPath: Self.programs + "/proof-child")
    try interruption.start {
      try process.run()
      return process.processIdentifier
    }
    running[process.processIdentifier] = process
  }

  /// Waits for a process to end.
  func wait(for process: Process) {
    process.waitUntilExit()
    interruption.ended(process.processIdentifier)
    running[process.processIdentifier] = nil
  }

  /// Ends every process, and removes the folder when no process can write into it any more.
  func end(keepingFolder keepsFolder: Bool) {
    interruption.endChildren()
    for process in running.values { wait(for: process) }
    if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
  }
}
