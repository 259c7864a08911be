// Compiled together with the sources of ProofJOSE into one module: run.sh says how.

/// Keys that are the same in every run, so that a found input stays one.
private let keys = KeyAlgorithm.allCases.map { algorithm in
  let secret = JOSESecret(count: algorithm.freshSecretByteCount) { bytes in
    for index in bytes.indices { bytes[index] = UInt8(index + 1) }
  }
  guard let key = try? JSONWebKey(secret: secret, algorithm: algorithm, id: "k1") else {
    fatalError("The key is right.")
  }
  return key
}

private let clock = JOSEClock.fixed(UnixTime(seconds: 1_800_000_000))

/// One input: its first byte says which parser gets the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  do {
    switch start[0] % 6 {
    case 0: try fuzzJSON(bytes)
    case 1: try fuzzKeys(bytes)
    case 2: try fuzzClaims(bytes)
    case 3: try fuzzTokens(String(decoding: bytes, as: UTF8.self))
    case 4: try fuzzSigned(bytes)
    default: fuzzBase64(bytes)
    }
  } catch {
    // A refusal has words.
    precondition(!"\(error)".isEmpty)
  }
  return 0
}

/// What is taken is written canonically, and taken again as the same.
private func fuzzJSON(_ bytes: [UInt8]) throws {
  let value = try JSONValue(parsing: bytes.span)
  let text = value.text
  let again = try? JSONValue(parsing: text)
  precondition(again == value && again?.text == text)
}

private func fuzzKeys(_ bytes: [UInt8]) throws {
  if let keys = try? JSONWebKey.keys(parsing: bytes.span) { precondition(!keys.isEmpty) }
  if let set = try? JWKS(parsing: bytes.span) {
    precondition((try? JWKS(parsing: set.publicJSON).publicJSON) == set.publicJSON)
  }
  let key = try JSONWebKey(parsing: bytes.span)
  if key.isPrivate {
    let again = try JSONWebKey(parsing: key.privateJSON())
    precondition(again.isSameKey(as: key))
  } else {
    let again = try JSONWebKey(parsing: key.publicJSON())
    precondition(again.isSameKey(as: key))
  }
}

private func fuzzClaims(_ bytes: [UInt8]) throws {
  let claims = try Claims(parsing: bytes.span)
  let text = try claims.secretJSON()
  let again = try text.withBytes { bytes throws(JOSEError) in try Claims(parsing: bytes) }
  let isSame = try again.secretJSON().matches(text)
  precondition(isSame)
}

/// Without a key nobody makes a token that is taken.
private func fuzzTokens(_ token: String) throws {
  _ = try? UnverifiedToken(reading: token)
  for key in keys {
    if key.algorithm.isSignature {
      guard (try? JWSVerifier(key, keyID: .optional).verify(token)) == nil else {
        fatalError("A forgery was taken.")
      }
    } else if let opened = try? JWEDecrypter(key, keyID: .optional).open(token) {
      fatalError("A forgery of \(opened.payload.count) bytes was taken.")
    }
  }
}

/// With the key, header and payload (cut at the first zero) are judged after the signature.
private func fuzzSigned(_ bytes: [UInt8]) throws {
  let key = keys[0]
  let cut = bytes.firstIndex(of: 0) ?? bytes.count
  let header = Array(bytes[..<cut])
  let payload = Array(bytes[min(cut + 1, bytes.count)...])
  var token = TextWriter.bytes { writer, text in writer.base64(header.span, .url, into: &text) }
  token.append(UInt8(ascii: "."))
  token += TextWriter.bytes { writer, text in writer.base64(payload.span, .url, into: &text) }
  let message = token
  let tag = try key.withSecret { secret throws(JOSEError) in
    try Digest.hmac(message.span, key: secret)
  }
  token.append(UInt8(ascii: "."))
  token += TextWriter.bytes { writer, text in writer.base64(tag.span, .url, into: &text) }
  let verifier = try JWSVerifier(key, keyID: .optional)
  let text = String(decoding: token, as: UTF8.self)
  let claims = try verifier.claims(of: text, under: ClaimsPolicy(clock: clock))
  precondition(claims.expiry.map { $0 > clock.now } == true && claims.audience.isEmpty)
  precondition(claims.measurement == nil)
}

/// What is decoded is encoded to the same text.
private func fuzzBase64(_ bytes: [UInt8]) {
  for alphabet in [Base64Alphabet.url, .standard] {
    if let decoded = alphabet.decode(bytes.span) {
      let text = TextWriter.bytes { writer, text in
        writer.base64(decoded.span, alphabet, into: &text)
      }
      precondition(text == bytes)
    }
  }
}
