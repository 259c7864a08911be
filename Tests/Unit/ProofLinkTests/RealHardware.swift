// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import RealProcess

/// One piece of real hardware: a flash file, and a process while it has power.
struct RealHardware {
  let folder: URL
  let identity: HardwareIdentity
  /// Its features, as the provisioning prints them.
  let features: String?

  // `drawn`: what the factory draws for it; nil for no factory secret. `keepsLog` needs it.
  /// A folder of its own, short enough for a socket's path.
  init(trusting issuer: IssuerKey, drawn: [UInt8]? = nil, keepsLog: Bool = false) async throws {
    folder = URL(fileURLWithPath: "/tmp/link-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var arguments = ["--flash", folder.appendingPathComponent("flash").path, "--provision"]
    if let drawn {
      let file = folder.appendingPathComponent("provisioning")
      let log = keepsLog ? "log = yes\n" : ""
      let text = Data("factory-secret = \(Hexadecimal.encode(drawn))\n\(log)".utf8)
      guard
        FileManager.default.createFile(
          atPath: file.path, contents: text, attributes: [.posixPermissions: 0o600])
      else { throw RealProcess.Ended(description: "\(file.path) could not be written") }
      arguments.append(file.path)
    }
    let made = try await RealProcess(
      "proof-hardware",
      arguments + ["--mode", "production", "--issuer", issuer.publicKey.description])
    let fields = made.lines.map { $0.components(separatedBy: " = ") }.filter { $0.count == 2 }
    func field(_ name: String) throws -> [UInt8] {
      guard let text = fields.first(where: { $0[0] == name })?[1],
        let bytes = Hexadecimal.decode(text)
      else { throw RealProcess.Ended(description: made.lines.joined(separator: "\n")) }
      return bytes
    }
    features = fields.first { $0[0] == "features" }?[1]
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
