// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import ProofModel

/// The hardware: a lock with flash, as a process of its own.
final class Lock {
  let identity: LockIdentity
  let socket: String
  private let flash: String
  private let program: String
  private let cast: Cast
  /// Whether it keeps a log. The firmware ends a link four seconds after its last accepted command;
  /// on a busy machine the emulated board needs longer until the app has found the log.
  let keepsLog: Bool
  /// Whether it answers sealed commands, and opens channels behind them. The firmware has no memory
  /// left for them.
  let sealsCommands: Bool
  /// Whether it takes what owners lend. The firmware has no memory left for it.
  let takesGrants: Bool
  private var process: Child?

  /// Provisions a lock as its factory would. The program is `proof-hardware`, or another that
  /// implements docs/LINK.md and takes the same options.
  init(_ cast: Cast, _ tool: Tool, backend: BackendSide, program: String?) throws {
    self.cast = cast
    self.program = program ?? tool.path("proof-hardware")
    keepsLog = program == nil
    sealsCommands = program == nil
    takesGrants = program == nil
    let folder = cast.folder + "/lock"
    try PrivateFiles.makeFolder(folder)
    flash = folder + "/flash"
    socket = folder + "/socket"
    let key = folder + "/secret.key"
    let drawn = folder + "/factory.secret"
    identity = try backend.enter(
      secretKey: key, factorySecret: drawn, takingGrants: takesGrants, sealing: sealsCommands)
    let secret = try Data(contentsOf: URL(fileURLWithPath: key))
    let factorySecret = try Data(contentsOf: URL(fileURLWithPath: drawn))
    let provisioning = folder + "/provisioning"
    try PrivateFiles.write(
      """
      mode = development
      id = \(identity.id)
      secret-key = \(Hexadecimal.encode(secret))
      factory-secret = \(Hexadecimal.encode(factorySecret))
      issuer = \(backend.issuer)
      \(keepsLog ? "log = yes" : "")
      \(takesGrants ? "grants = yes" : "")

      """, to: provisioning)
    try tool.run(self.program, ["--flash", flash, "--provision", provisioning])
    // From here on only the lock has its key, and only the account what the factory drew.
    for file in [key, drawn, provisioning] { try FileManager.default.removeItem(atPath: file) }
  }

  /// Switches the power on.
  func start() throws {
    try? FileManager.default.removeItem(atPath: socket)
    let child = try Child("proof-hardware", program, arguments, in: cast)
    process = child
    try child.line(with: "listening", onErrors: true)
  }

  /// The command that starts it by hand.
  var command: String { ([program] + arguments).joined(separator: " ") }

  private var arguments: [String] {
    ["--flash", flash, "--socket", socket]
      + (sealsCommands ? ["--seal", "yes", "--channel", "yes"] : [])
  }

  /// Cuts the power at once.
  func cut() {
    process?.cut()
    process = nil
  }

  func stop() {
    process?.stop()
    process = nil
  }

  /// Skips the log so far.
  func turnPage() { process?.skip() }

  /// The verdict, read from the lock's log, on the next message of a type.
  func verdict(on message: String) throws -> String {
    guard let process else { throw StageFailure("the lock is off") }
    let mark = ": \(message) of "
    // "link 0: command of 1a2b3c4d: accepted (1), detail 65535". The lock logs "link 0: command of class 2: done" when the
    // app has its verdict already: such a line of an earlier command may come at any time.
    var line = ""
    repeat {
      guard let next = process.line(withErrors: mark) else {
        return "no \(message)"
      }
      line = next
    } while line.contains("\(mark)class ")
    let words = line.split(separator: ": ").last ?? ""
    return words.split(separator: " (").first.map(String.init) ?? line
  }
}
