// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

extension JSONWebKey {
  /// Reads a JSON Web Key (RFC 7517), private or public.
  ///
  /// Duplicate members are refused, unknown ones ignored; `use` and `key_ops` must fit the
  /// algorithm. The algorithm of an `oct` key comes from `alg` or from the caller, that of an OKP
  /// key from its curve. For an EC or RSA key it comes from `alg`, or from `use`, because each use
  /// has one algorithm; an EC key with neither is for ES256. If several sources name it, they must
  /// agree.
  ///
  /// - Parameters:
  ///   - text: The JSON. The secret is decoded in place; no other copy is made.
  ///   - algorithm: The key's algorithm, if the caller knows it.
  /// - Throws: ``JOSEError``.
  public init(parsing text: Span<UInt8>, as algorithm: KeyAlgorithm? = nil) throws(JOSEError) {
    let index: JSONIndex
    do {
      index = try JSONIndex(parsing: text)
    } catch {
      throw .notJSON(.key, error)
    }
    try self.init(index, at: 0, in: text, as: algorithm)
  }

  /// Reads a JSON Web Key that is a secret as a whole.
  ///
  /// - Parameters:
  ///   - text: The JSON.
  ///   - algorithm: The key's algorithm, if the caller knows it.
  /// - Throws: ``JOSEError``.
  public init(
    parsing text: borrowing JOSESecret, as algorithm: KeyAlgorithm? = nil
  ) throws(JOSEError) {
    self = try text.withBytes { bytes throws(JOSEError) in
      try JSONWebKey(parsing: bytes, as: algorithm)
    }
  }

  /// Reads a JSON Web Key from a string. For public keys: a string is never wiped.
  ///
  /// - Parameters:
  ///   - text: The JSON.
  ///   - algorithm: The key's algorithm, if the caller knows it.
  /// - Throws: ``JOSEError``.
  public init(parsing text: String, as algorithm: KeyAlgorithm? = nil) throws(JOSEError) {
    try self.init(parsing: Array(text.utf8).span, as: algorithm)
  }

  /// Reads a backend's key file: one JSON Web Key, or a set of them, private or public.
  ///
  /// - Parameter text: The JSON. Secrets are decoded in place.
  /// - Returns: The keys. Keys of a set have names, all different, and each has an algorithm of
  ///   this library.
  /// - Throws: ``JOSEError``.
  public static func keys(parsing text: Span<UInt8>) throws(JOSEError) -> [JSONWebKey] {
    let index: JSONIndex
    do {
      index = try JSONIndex(parsing: text)
    } catch {
      throw .notJSON(.key, error)
    }
    guard index.nodes[0].kind == .object else { throw .notAnObject(.key) }
    let list = index.members(of: 0).first {
      index.bytes(at: $0.name, in: text).elementsEqual("keys".utf8)
    }
    guard let list else { return [try JSONWebKey(index, at: 0, in: text, as: nil)] }
    guard index.nodes[list.value].kind == .array else {
      throw .keyInvalid("“keys” is no array")
    }
    var keys: [JSONWebKey] = []
    for element in index.elements(of: list.value) {
      keys.append(try JSONWebKey(index, at: element, in: text, as: nil))
    }
    guard !keys.isEmpty else { throw .keyInvalid("the set is empty") }
    return try JWKS(keys).keys
  }

  init(
    _ index: JSONIndex, at node: Int, in text: Span<UInt8>, as wanted: KeyAlgorithm?
  ) throws(JOSEError) {
    let members = try KeyMembers(index, at: node, in: text)
    let algorithm = try members.algorithm(wanted: wanted, in: text)
    let operations = try members.operations(of: algorithm, in: text)
    let id = try members.text("kid", in: text)
    let material: KeyMaterial
    switch algorithm {
    case .hs256, .direct, .a256kw:
      material = try KeyMaterial(algorithm, secret: members.secret("k", in: text))
    case .es256, .edDSA, .ecdhES, .rs256, .rsaOAEP256:
      let publicBytes = try members.publicBytes(of: algorithm, in: text)
      if members["d"] == nil {
        material = try KeyMaterial(algorithm, publicBytes: publicBytes)
      } else {
        material = try KeyMaterial(
          algorithm,
          secret: algorithm.coreKind == .rsa
            ? members.rsaNumbers(modulusByteCount: publicBytes.count, in: text)
            : members.secret("d", in: text))
        guard material.coreKey?.publicBytes == publicBytes else {
          throw .keyInvalid("its private and its public part do not belong together")
        }
      }
    }
    let possible = KeyOperations.all(of: algorithm, isPrivate: material.secret != nil)
    try self.init(material, id: id, operations: operations.intersection(possible))
  }
}

/// The members of a key's JSON, found by name.
private struct KeyMembers {
  private let index: JSONIndex
  private var nodes: [String: Int] = [:]

  init(_ index: JSONIndex, at node: Int, in text: Span<UInt8>) throws(JOSEError) {
    self.index = index
    guard index.nodes[node].kind == .object else { throw .notAnObject(.key) }
    for member in index.members(of: node) {
      let name = index.bytes(at: member.name, in: text)
      // All known names are ASCII. A non-ASCII name could be equivalent to one in Swift's
      // comparison.
      if name.allSatisfy({ $0 < 0x80 }) {
        nodes[String(decoding: name, as: UTF8.self)] = member.value
      }
    }
  }

  subscript(name: String) -> Int? { nodes[name] }

  func text(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> String? {
    guard let node = nodes[name] else { return nil }
    guard index.nodes[node].kind == .string else {
      throw .keyInvalid("its “\(name)” is not a string")
    }
    return index.string(at: node, in: text)
  }

  func algorithm(wanted: KeyAlgorithm?, in text: Span<UInt8>) throws(JOSEError) -> KeyAlgorithm {
    guard let type = try self.text("kty", in: text) else { throw .keyInvalid("it has no “kty”") }
    let curve = try self.text("crv", in: text)
    let name = try self.text("alg", in: text)
    let use = try self.text("use", in: text)
    let said: KeyAlgorithm?
    switch (type, curve) {
    case ("EC", "P-256"?), ("RSA", nil):
      let isCurve = type == "EC"
      // The same kind of key serves two algorithms, so the key's own `alg` comes first.
      said =
        try name.map { (name) throws(JOSEError) in try Self.asymmetric(name, type) }
        ?? use.flatMap { KeyAlgorithm.asymmetric(keyType: type, use: $0) }
        ?? wanted.flatMap { $0.keyType == type ? $0 : nil } ?? (isCurve ? .es256 : nil)
    case ("OKP", "Ed25519"?): said = .edDSA
    case ("oct", _): said = try name.map(Self.symmetric) ?? wanted
    default:
      throw .keyUnsupported(
        "type \(ExactText.quoted(type)), curve \(ExactText.quoted(curve ?? ""))")
    }
    guard let said else {
      throw .keyUnsupported("type \(ExactText.quoted(type)) does not say its algorithm")
    }
    if type == "OKP", let name, name != said.rawValue {
      throw .keyUnsupported("algorithm \(ExactText.quoted(name)) for its curve")
    }
    if let wanted, wanted != said {
      throw .keyForOtherUse(said, wanted: "work with \(wanted.rawValue)")
    }
    return said
  }

  private static func asymmetric(
    _ name: String, _ type: String
  ) throws(JOSEError) -> KeyAlgorithm {
    guard let algorithm = KeyAlgorithm(rawValue: name), algorithm.keyType == type else {
      throw .keyUnsupported(
        "algorithm \(ExactText.quoted(name)) for its \(type == "EC" ? "curve" : "type")")
    }
    return algorithm
  }

  private static func symmetric(_ name: String) throws(JOSEError) -> KeyAlgorithm {
    // RFC 7520, 5.6, names a direct key by its content encryption.
    if name == "A256GCM" { return .direct }
    guard let algorithm = KeyAlgorithm(rawValue: name), algorithm.isSymmetric else {
      throw .keyUnsupported("algorithm \(ExactText.quoted(name))")
    }
    return algorithm
  }

  func operations(
    of algorithm: KeyAlgorithm, in text: Span<UInt8>
  ) throws(JOSEError) -> KeyOperations {
    let all = KeyOperations.all(of: algorithm)
    if let use = try self.text("use", in: text), use != algorithm.use {
      throw .keyForOtherUse(algorithm, wanted: algorithm.isSignature ? "sign" : "encrypt")
    }
    guard let node = nodes["key_ops"] else { return all }
    guard index.nodes[node].kind == .array else {
      throw .keyInvalid("its “key_ops” is not an array")
    }
    var operations: KeyOperations = []
    var seen: Set<[UInt8]> = []
    for element in index.elements(of: node) {
      guard index.nodes[element].kind == .string else {
        throw .keyInvalid("its “key_ops” holds something else than strings")
      }
      let name = index.bytes(at: element, in: text)
      guard seen.insert(name).inserted else {
        throw .keyInvalid("its “key_ops” says something twice")
      }
      for known in KeyOperations.names where name.elementsEqual(known.name.utf8) {
        operations.insert(known.operation)
      }
    }
    operations = .all(namedBy: operations)
    guard !operations.intersection(all).isEmpty else {
      throw .keyForOtherUse(algorithm, wanted: algorithm.isSignature ? "sign" : "encrypt")
    }
    return operations.intersection(all)
  }

  /// Decodes a secret in place, into memory for secrets.
  func secret(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> JOSESecret {
    guard let node = nodes[name] else { throw .keyInvalid("it has no “\(name)”") }
    // Escapes would make the text longer than its characters; base64 needs no escapes.
    let characters = index.nodes[node].end - index.nodes[node].start
    let count = characters / 4 * 3 + max(0, characters % 4 - 1)
    return try JOSESecret(count: count) { bytes throws(JOSEError) in
      guard index.decodeBase64(at: node, in: text, .url, into: &bytes, 0..<count) else {
        throw .keyInvalid("its “\(name)” is not base64url")
      }
    }
  }

  /// x and y, the encoded point, or the modulus.
  func publicBytes(
    of algorithm: KeyAlgorithm, in text: Span<UInt8>
  ) throws(JOSEError) -> [UInt8] {
    switch algorithm.coreKind {
    case .rsa: try modulus(in: text)
    case .p256: try coordinate("x", in: text) + coordinate("y", in: text)
    default: try coordinate("x", in: text)
    }
  }

  private func modulus(in text: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    var numbers: [String: [UInt8]] = [:]
    for name in ["n", "e"] {
      guard let node = nodes[name], index.nodes[node].kind == .string,
        let bytes = Base64Alphabet.url.decode(index.bytes(at: node, in: text).span)
      else { throw .keyInvalid("its “\(name)” is missing or not base64url") }
      numbers[name] = bytes
    }
    guard numbers["e"] == SubjectPublicKeyInfo.exponent else {
      throw .keyUnsupported("RSA with another exponent than 65537")
    }
    let modulus = numbers["n"] ?? []
    guard CoreKey.rsaModulusByteCounts.contains(modulus.count), modulus[0] >= 0x80 else {
      throw .keyUnsupported("RSA of another size than 2048, 3072 and 4096 bits")
    }
    return modulus
  }

  /// Decodes the private numbers in place, each aligned to the end of its range, because RFC 7518,
  /// 6.3.2, leaves leading zeros out.
  func rsaNumbers(
    modulusByteCount: Int, in text: Span<UInt8>
  ) throws(JOSEError) -> JOSESecret {
    guard nodes["oth"] == nil else { throw .keyUnsupported("RSA with more than two primes") }
    let count = CoreKey.privateByteCount(ofModulus: modulusByteCount)
    return try JOSESecret(count: count) { bytes throws(JOSEError) in
      for (name, place) in JSONWebKey.rsaPlaces(modulusByteCount: modulusByteCount) {
        guard let node = nodes[name] else { throw .keyInvalid("it has no “\(name)”") }
        let characters = index.nodes[node].end - index.nodes[node].start
        let length = characters / 4 * 3 + max(0, characters % 4 - 1)
        guard length <= place.count,
          index.decodeBase64(
            at: node, in: text, .url, into: &bytes,
            (place.upperBound - length)..<place.upperBound)
        else { throw .keyInvalid("its “\(name)” is not base64url, or is too long") }
      }
    }
  }

  private func coordinate(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    guard let node = nodes[name] else { throw .keyInvalid("it has no “\(name)”") }
    var bytes = [UInt8](repeating: 0, count: 32)
    var span = bytes.mutableSpan
    guard index.decodeBase64(at: node, in: text, .url, into: &span, 0..<32) else {
      throw .keyInvalid("its “\(name)” is not 32 bytes in base64url")
    }
    return bytes
  }
}
