// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

/// A certificate for this machine, with its key, made for the story.
struct Certificate {
  let chain: String
  let key: String

  /// Makes it.
  init(in folder: String, named name: String, by tool: Tool) throws {
    chain = "\(folder)/\(name).pem"
    key = "\(folder)/\(name).key"
    try tool.run(command: [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-days", "2", "-subj", "/CN=proof-demo \(name)", "-addext", "subjectAltName=IP:127.0.0.1",
      "-out", chain, "-keyout", key,
    ])
    try PrivateFiles.close(key)
  }

  /// The pin of its key: base64 of the SHA-256 of SubjectPublicKeyInfo.
  func pin(by tool: Tool) throws -> String {
    let text = try tool.run(command: ["openssl", "x509", "-in", chain, "-noout", "-pubkey"])
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    guard
      let bytes = Base64.decode(lines.filter { !$0.hasPrefix("-----") }.joined())
    else { throw StageFailure("openssl gave no public key of \(chain)") }
    return Base64.encode(Digest(hashing: bytes).bytes)
  }
}
