import Dispatch
import Foundation
import Glibc
import Synchronization

/// Every process of the story and the folder they play in: whatever happens, both are gone in the
/// end.
final class Cast: Sendable {
  private struct State {
    var children: Set<pid_t> = []
    var isOver = false
  }

  /// What a program of the story is started with: nothing of the person's own settings, which would
  /// be measured too.
  static let environment: [String: String] = {
    var kept = ProcessInfo.processInfo.environment.filter { name, _ in
      ["HOME", "PATH", "TMPDIR"].contains(name)
    }
    kept["LANG"] = "C.UTF-8"
    return kept
  }()

  /// The folder, removed in the end unless it is to be kept.
  let folder: String
  private let keepsFolder: Bool
  private let state = Mutex(State())
  private let signals: Signals

  /// Resumed once, and never touched again.
  private struct Signals: @unchecked Sendable {
    let sources: [any DispatchSourceSignal]
  }

  /// Makes a folder of a new name, or takes one that is to be kept.
  init(keeping kept: String? = nil) throws {
    keepsFolder = kept != nil
    folder =
      kept.map { URL(fileURLWithPath: $0).path }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent(
        "proof-demo-\(UUID().uuidString.prefix(8))"
      ).path
    guard !FileManager.default.fileExists(atPath: folder) else {
      throw StageFailure("\(folder) is there already: name a folder that is to be made")
    }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    // A pipe whose reader went is an error of the write, not the end of the story.
    signal(SIGPIPE, SIG_IGN)
    let numbers = [SIGINT, SIGTERM, SIGHUP]
    signals = Signals(
      sources: numbers.map { number in
        signal(number, SIG_IGN)
        return DispatchSource.makeSignalSource(signal: number, queue: .global())
      })
    for (source, number) in zip(signals.sources, numbers) {
      source.setEventHandler { [self] in
        end()
        _exit(128 + number)
      }
      source.resume()
    }
  }

  /// Starts a process, unless the story is over.
  func start(_ process: Process) throws {
    try state.withLock { state in
      guard !state.isOver else { throw StageFailure("the story is over") }
      try process.run()
      state.children.insert(process.processIdentifier)
    }
  }

  /// A process ended and was waited for: its number may be another's from now on.
  func ended(_ child: pid_t) {
    state.withLock { _ = $0.children.remove(child) }
  }

  /// Ends every process, and removes the folder.
  func end() {
    state.withLock { state in
      state.isOver = true
      for child in state.children { kill(child, SIGKILL) }
      state.children = []
    }
    if !keepsFolder { try? FileManager.default.removeItem(atPath: folder) }
  }
}
