// SPDX-License-Identifier: Apache-2.0

// Compiled together with the sources of ProofJOSE into one module: run.sh says how.

private let rsaKey =
  "{"
  + [
    ("kty", "RSA"),
    (
      "n",
      "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJ"
        + "PMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0"
        + "LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uD"
        + "Zlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2"
        + "PAcDTW9gb54h4FRWyuXpoQ"
    ),
    ("e", "AQAB"),
    (
      "d",
      "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9S"
        + "E-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVd"
        + "xzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQ"
        + "UShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjn"
        + "czT0QU91p1DhOVRuOopznQ"
    ),
    (
      "p",
      "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQT"
        + "a9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV"
        + "5z-y2XDwGUc"
    ),
    (
      "q",
      "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7"
        + "C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rj"
        + "cJIDEz9RWdc"
    ),
    (
      "dp",
      "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_P"
        + "I7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1Xs"
        + "mvkxHQAdYo0"
    ),
    (
      "dq",
      "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oK"
        + "r6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTd"
        + "lqvd0tIiTHU"
    ),
    (
      "qi",
      "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_"
        + "QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0J"
        + "KSHuLFkuQ3U"
    ),
  ].map { "\"\($0.0)\":\"\($0.1)\"" }.joined(separator: ",") + "}"

/// Keys that are the same in every run, so that a found input stays one.
private let keys = KeyAlgorithm.allCases.map { algorithm in
  guard let count = algorithm.freshSecretByteCount else {
    // RFC 7515, A.2: the same in every run, and made by no search.
    guard let key = try? JSONWebKey(parsing: rsaKey, as: algorithm).named("k1") else {
      fatalError("The key is right.")
    }
    return key
  }
  let secret = JOSESecret(count: count) { bytes in
    for index in bytes.indices { bytes[index] = UInt8(index + 1) }
  }
  guard let key = try? JSONWebKey(secret: secret, algorithm: algorithm, id: "k1") else {
    fatalError("The key is right.")
  }
  return key
}

private let clock = UnixClock.fixed(UnixTime(seconds: 1_800_000_000))

/// One input: its first byte says which parser gets the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  let bytes = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  do {
    switch start[0] % 8 {
    case 0: try fuzzJSON(bytes)
    case 1: try fuzzKeys(bytes)
    case 2: try fuzzClaims(bytes)
    case 3: try fuzzTokens(String(decoding: bytes, as: UTF8.self))
    case 4: try fuzzSigned(bytes)
    case 6: try fuzzPEM(String(decoding: bytes, as: UTF8.self))
    case 7: try fuzzNested(bytes)
    default: fuzzBase64(bytes)
    }
  } catch {
    // A refusal has words.
    precondition(!"\(error)".isEmpty)
  }
  return 0
}

/// Accepted JSON is written canonically, and read again as the same.
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

/// A token made with no key is never accepted.
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

/// A public key that is taken is written as one, and taken again as the same.
private func fuzzPEM(_ text: String) throws {
  for algorithm in KeyAlgorithm.allCases {
    guard let key = try? JSONWebKey(publicPEM: text, algorithm: algorithm) else { continue }
    precondition(!key.isPrivate)
    let again = try JSONWebKey(publicPEM: key.publicPEM(), algorithm: algorithm)
    precondition(again.isSameKey(as: key))
  }
  _ = try JSONWebKey(publicPEM: text, algorithm: .es256)
}

/// Every sender can seal to the public key: header members (up to the first zero) and content come from
/// outside, and no claims are taken, because none of it is signed.
private func fuzzNested(_ bytes: [UInt8]) throws {
  guard let own = keys.first(where: { $0.algorithm == .ecdhES }),
    let signing = keys.first(where: { $0.algorithm == .es256 }), let other = own.publicKey
  else { fatalError("The keys are there.") }
  let cut = bytes.firstIndex(of: 0) ?? bytes.count
  let content = Array(bytes[min(cut + 1, bytes.count)...])
  let sealed = try JWEEncrypter(other).seal(
    payload: content.span, type: "JWT", contentType: "JWT")
  let verifier = try JWSVerifier(signing)
  let policy = try ClaimsPolicy(clock: clock, audience: "a")
  let decrypter = try JWEDecrypter(own)
  if (try? decrypter.claims(of: sealed, signedBy: verifier, under: policy)) != nil {
    fatalError("A forgery was taken.")
  }
  // The header is altered, with what agrees and what does not: epk, apu and apv among it.
  var parts = sealed.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  let members = Array(bytes[..<cut])
  let header = TextWriter.bytes { writer, text in
    writer.base64(members.span, .url, into: &text)
  }
  parts[0] = String(decoding: header, as: UTF8.self)
  _ = try decrypter.claims(
    of: parts.joined(separator: "."), signedBy: verifier, under: policy)
  fatalError("A forgery was taken.")
}

/// Decoded bytes are encoded to the same text.
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
