// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A phone with a sample app on it.
final class Phone {
  let home: String
  let name: String
  private let cast: Cast
  private let tool: Tool
  /// The options of the app.
  private let options: [String]
  private var process: Child?

  var bundle: String { home + "/app" }
  var storage: String { home + "/storage" }

  init(_ name: String, _ cast: Cast, _ tool: Tool, options: [String] = []) {
    self.options = options
    self.name = name
    self.cast = cast
    self.tool = tool
    home = cast.folder + "/" + name
  }

  /// Installs the files of the first version of the lock's app.
  func install(_ service: AttestationSide, _ backend: BackendSide) throws {
    try install(service, api: AttestationSide.api, trusting: [service.authority])
    try PrivateFiles.write(backend.url, to: bundle + "/backend")
    try PrivateFiles.write("doors stay shut at night\n", to: bundle + "/rules")
  }

  /// Installs the files of the shop's app for one of its users.
  func install(_ service: AttestationSide, _ shop: ShopSide, for user: ShopUser) throws {
    try install(service, api: shop.host, trusting: [service.authority] + shop.authorities)
    try PrivateFiles.write("no returns\n", to: bundle + "/rules")
    try PrivateFiles.makeFolder(home + "/paired")
    try PrivateFiles.write("\(user.name) \(user.secret)\n", to: home + "/paired/user")
  }

  private func install(
    _ service: AttestationSide, api: String, trusting authorities: [String]
  ) throws {
    try PrivateFiles.makeFolder(bundle + "/views")
    try PrivateFiles.makeFolder(storage)
    try PrivateFiles.write(service.configuration(), to: bundle + "/account")
    try PrivateFiles.write(api, to: bundle + "/api")
    let certificates = try authorities.map { try String(contentsOfFile: $0, encoding: .utf8) }
    try PrivateFiles.write(certificates.joined(), to: bundle + "/authority.pem")
    try PrivateFiles.write("1.0\n", to: bundle + "/version")
    try PrivateFiles.write("a big round button\n", to: bundle + "/views/main")
  }

  /// Pairs the app with its lock.
  func pair(with lock: Lock) throws {
    try PrivateFiles.makeFolder(home + "/paired")
    try PrivateFiles.write(lock.identity.id, to: home + "/paired/hardware")
    try PrivateFiles.write(lock.socket, to: home + "/paired/link")
  }

  /// Starts the app.
  ///
  /// - Parameters:
  ///   - socket: The lock's address, if it differs from the paired one.
  ///   - starter: The program that starts it, with its arguments.
  ///   - environment: The variables to add to the usual environment.
  /// - Throws: If it does not start.
  func start(
    over socket: String? = nil, by starter: [String] = [], environment: [String: String] = [:]
  ) throws {
    stop()
    let link = socket.map { ["--socket", $0] } ?? []
    let command =
      starter + [tool.path("proof-demo"), "app", "--json", "--home", home] + options + link
    let child = try Child(
      "the app of \(name)", command[0], Array(command.dropFirst()), in: cast,
      environment: environment)
    try child.line(with: "ready")
    process = child
  }

  /// The command that starts it by hand.
  var command: String { "\(tool.path("proof-demo")) app --home \(home)" }

  /// Has the app do a verb.
  func app(_ words: String) throws -> AppAnswer {
    if process == nil { try start() }
    guard let process else { throw StageFailure("\(name) is off") }
    try process.tell(words)
    let line = try process.line()
    do {
      return try JSONDecoder().decode(AppAnswer.self, from: Data(line.utf8))
    } catch {
      throw StageFailure("the app of \(name) said: \(line)")
    }
  }

  /// Ends the app, as closing it does.
  func stop() {
    process?.close()
    process = nil
  }

  /// The stored measurement, as it stands on disk.
  var measurementFile: String { storage + "/measurement/measurement" }

  /// Copies all files of the phone.
  func copy(to other: Phone) throws {
    try FileManager.default.copyItem(atPath: home, toPath: other.home)
  }
}
