// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofRequest

/// Requests of other projects' vectors, as JSON below Tests/Vectors.
enum Vectors {
  static func file(_ name: String) throws -> [String: Any] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: root.appendingPathComponent("Vectors/\(name)"))
    return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
  }

  static func names(_ folder: String) throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent("Vectors/\(folder)").path
    ).sorted()
  }
}

/// One request of the project adcontextprotocol/adcp.
struct ForeignRequest {
  let vector: [String: Any]

  init(_ name: String) throws { vector = try Vectors.file("request-signing/\(name)") }

  var request: [String: Any] { vector["request"] as? [String: Any] ?? [:] }
  var base: String? { vector["expected_signature_base"] as? String }
  var keyID: String { (vector["jwks_ref"] as? [String])?.first ?? "" }

  func head() throws -> RequestHead {
    var fields = HeaderFields()
    let headers = request["headers"] as? [String: String] ?? [:]
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      try fields.append(name, value)
    }
    return try RequestHead(
      method: request["method"] as? String ?? "", url: request["url"] as? String ?? "",
      fields: fields)
  }

  /// The head with its signatures in the alphabet of RFC 8941; the profile writes them in base64url.
  func standardHead() throws -> RequestHead {
    var head = try head()
    guard let value = head.fields.values(of: "signature").first else { return head }
    try head.fields.set("signature", Self.standard(value))
    return head
  }

  private static func standard(_ field: String) -> String {
    var parts = field.components(separatedBy: ":")
    for index in stride(from: 1, to: parts.count, by: 2) {
      parts[index] = parts[index].replacingOccurrences(of: "-", with: "+")
        .replacingOccurrences(of: "_", with: "/")
      while parts[index].count % 4 != 0 { parts[index] += "=" }
    }
    return parts.joined(separator: ":")
  }
}
