import Foundation

/// A phone with the sample app on it.
final class Phone {
  let home: String
  let name: String
  private let cast: Cast
  private let tool: Tool
  private var process: Child?

  var bundle: String { home + "/app" }
  var storage: String { home + "/storage" }

  init(_ name: String, _ cast: Cast, _ tool: Tool) {
    self.name = name
    self.cast = cast
    self.tool = tool
    home = cast.folder + "/" + name
  }

  /// Installs the files of the app's first version.
  func install(_ service: AttestationSide, _ backend: BackendSide) throws {
    try PrivateFiles.makeFolder(bundle + "/views")
    try PrivateFiles.makeFolder(storage)
    try PrivateFiles.write(service.configuration(), to: bundle + "/account")
    try PrivateFiles.write(AttestationSide.api, to: bundle + "/api")
    try PrivateFiles.write(backend.url, to: bundle + "/backend")
    try FileManager.default.copyItem(
      atPath: service.authority, toPath: bundle + "/authority.pem")
    try PrivateFiles.write("1.0\n", to: bundle + "/version")
    try PrivateFiles.write("doors stay shut at night\n", to: bundle + "/rules")
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
      starter + [tool.path("proof-demo"), "app", "--json", "--home", home] + link
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
