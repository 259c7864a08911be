import Foundation
import ProofModel

/// A process of this package, running beside the test, and what it says.
final class RealProcess: Sendable {
  struct Ended: Error, CustomStringConvertible { let description: String }

  /// Where the tests themselves were built.
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  private let process = Process()
  private let said = CoreLock<[String]>([])
  private let reader: Task<Void, Never>

  /// Starts it, and returns when a line contains `greeting`, or when it has ended.
  init(_ name: String, _ arguments: [String], until greeting: String? = nil) async throws {
    let pipe = Pipe()
    process.executableURL = Self.products.appendingPathComponent(name)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    let (lines, teller) = AsyncStream.makeStream(of: String.self)
    try process.run()
    let output = pipe.fileHandleForReading
    DispatchQueue(label: name).async {
      var rest: [UInt8] = []
      while true {
        let piece = output.availableData
        rest += piece
        while let end = rest.firstIndex(of: 0x0A) {
          teller.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest.removeFirst(end + 1)
        }
        if piece.isEmpty { break }
      }
      teller.finish()
    }
    var iterator = lines.makeAsyncIterator()
    while let line = await iterator.next() {
      said.withLock { $0.append(line) }
      if let greeting, line.contains(greeting) { break }
    }
    reader = Task { [said] in
      while let line = await iterator.next() { said.withLock { $0.append(line) } }
    }
  }

  var lines: [String] { said.withLock { $0 } }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Asks it to stop, or kills it; returns when it has ended and all it said was heard.
  func end(_ signal: Int32 = SIGTERM) async {
    self.signal(signal)
    await reader.value
    process.waitUntilExit()
  }
}

/// One piece of real hardware: a flash file, and a process while it has power.
struct RealHardware {
  let folder: URL
  let identity: HardwareIdentity

  /// A folder of its own, short enough for a socket's path.
  init(trusting issuer: IssuerKey) async throws {
    folder = URL(fileURLWithPath: "/tmp/link-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let made = try await RealProcess(
      "proof-hardware",
      [
        "--flash", folder.appendingPathComponent("flash").path, "--provision", "--mode",
        "production", "--issuer", issuer.publicKey.description,
      ])
    let fields = made.lines.map { $0.components(separatedBy: " = ") }.filter { $0.count == 2 }
    func field(_ name: String) throws -> [UInt8] {
      guard let text = fields.first(where: { $0[0] == name })?[1],
        let bytes = Hexadecimal.decode(text)
      else { throw RealProcess.Ended(description: made.lines.joined(separator: "\n")) }
      return bytes
    }
    identity = HardwareIdentity(
      id: try HardwareID(field("id")), publicKey: try HardwarePublicKey(field("public-key")))
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  func powerOn(_ door: [String]? = nil) async throws -> RealProcess {
    try await RealProcess(
      "proof-hardware",
      ["--flash", path("flash"), "--log-level", "debug"] + (door ?? ["--socket", path("socket")]),
      until: "listening:")
  }

  func scrap() { try? FileManager.default.removeItem(at: folder) }
}
