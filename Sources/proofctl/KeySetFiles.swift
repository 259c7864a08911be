// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofJOSE

/// Keys of key sets that come from files or go into them: a backend's own pair, and its public part.
enum KeySetFiles {
  static let options = [
    Option(
      "--public", "FILE",
      help: "a backend's public key, PEM or JWK, for ECDH-ES+A256KW or RSA-OAEP-256"),
    bits,
  ]

  private static let bits = Option(
    "--bits", "N", help: "size of an RSA key: 2048, 3072 or 4096; 3072 if missing")

  /// Adds the flags of `keyset add` to its arguments.
  static func add(_ invocation: Invocation, to arguments: inout JSONObject) throws {
    if let bits = try size(invocation) { arguments["bits"] = .number(JSONNumber(Int64(bits))) }
    guard let path = invocation.value("--public") else { return }
    guard arguments["bits"] == nil else {
      throw Failure.usage("--public and --bits exclude each other: the key has its size")
    }
    guard let bytes = try SmallFile.read(path, limit: 16_384) else {
      throw Failure("\(path) is not there; name the file with the backend's public key")
    }
    let text = String(decoding: bytes, as: UTF8.self)
    // Check here too, so that a private key given by mistake never leaves this machine.
    guard !text.contains("PRIVATE KEY-----"),
      (try? JSONWebKey(parsing: text, as: algorithm(invocation)))?.isPrivate != true
    else { throw Failure("\(path) holds a private key; give its public part") }
    arguments["public"] = .string(text)
  }

  /// Makes a backend's own pair. It uses no account, because only the backend may have the pair.
  static let generate = Verb(
    "keyset generate", [Operand("ALGORITHM")],
    [
      Option("--output", "FILE", help: "the private key is written there, as a JWK"),
      Option("--kid", "NAME", help: "its name"), bits,
    ], "makes a backend's own pair (ECDH-ES+A256KW, RSA-OAEP-256), and shows its public part"
  ) { invocation in
    let path = try invocation.needed("--output")
    guard let algorithm = algorithm(invocation), algorithm.isPublicKeyEncryption else {
      throw Failure.usage("keyset generate makes keys of ECDH-ES+A256KW and RSA-OAEP-256")
    }
    let key = try JSONWebKey.random(
      algorithm, bits: size(invocation), id: invocation.value("--kid"))
    let json = try key.privateJSON()
    try json.withBytes { (bytes: Span<UInt8>) throws(FileFailure) -> Void in
      try SecretFile.create(path, bytes)
    }
    let shown = try JSONValue(parsing: key.publicJSON())
    return Answer(shown, text: shown.text)
  }

  static let get = Verb(
    "keyset get", [Operand("KID")],
    [Option("--pem", help: "the public key in PEM instead of a JWK")],
    "shows a key for API backends"
  ) { invocation in
    var arguments: JSONObject = ["kid": .string(invocation.operands[0])]
    guard invocation.has("--pem") else {
      return Answer(try AccountAccess(invocation).perform("keyset/get", arguments))
    }
    arguments["pem"] = true
    let answer = try AccountAccess(invocation).perform("keyset/get", arguments)
    guard case .object(let shown) = answer, case .string(let pem)? = shown["pem"] else {
      throw Failure("the service gave no PEM")
    }
    return Answer(answer, text: String(pem.dropLast()))
  }

  private static func algorithm(_ invocation: Invocation) -> KeyAlgorithm? {
    KeyAlgorithm(rawValue: invocation.operands[0])
  }

  private static func size(_ invocation: Invocation) throws -> Int? {
    guard let text = invocation.value("--bits") else { return nil }
    guard let bits = Int(text) else { throw Failure.usage("--bits is 2048, 3072 or 4096") }
    return bits
  }
}
