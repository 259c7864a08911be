import Foundation
import ProofModel
import RealProcess

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
