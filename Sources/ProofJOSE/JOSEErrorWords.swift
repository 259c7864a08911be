// SPDX-License-Identifier: Apache-2.0

extension JOSEError: CustomStringConvertible {
  /// The failure, the value and the next step, as text.
  public var description: String {
    switch self {
    case .tooLong, .wrongParts, .notBase64, .notJSON, .wrongLength, .notAnObject, .headerMember:
      formWords
    case .algorithmRefused, .algorithmMismatch, .encryptionRefused, .headerRefused,
      .headerKeyInvalid, .keyUnknown, .typeRefused, .contentTypeRefused, .signatureWrong,
      .signatureMissing, .decryptionFailed:
      headerWords
    case .claimMissing, .claimInvalid, .measurementInClear, .expired, .notYetValid,
      .issuedInFuture, .validTooLong, .issuerRefused, .audienceRefused, .subjectRefused,
      .bindingWrong:
      claimWords
    default:
      keyWords
    }
  }

  private var formWords: String {
    switch self {
    case .tooLong(let what, let count, let limit):
      "The \(what) has \(count) bytes; at most \(limit) are taken."
    case .wrongParts(let expected, let actual):
      "The token has \(actual) parts instead of \(expected): "
        + (actual == 5 && expected == 3
          ? "it is encrypted (JWE), and a signed one (JWS) was expected."
          : actual == 3 && expected == 5
            ? "it is signed (JWS), and an encrypted one (JWE) was expected."
            : "it is no token, or was cut or joined on the way.")
    case .notBase64(let part):
      "The \(part.rawValue) is not base64url as tokens are written: without padding or white "
        + "space, in one spelling. The token was altered, or comes from careless software."
    case .notJSON(let part, let error):
      "The \(part.rawValue) is not JSON that can be relied on: \(error)."
    case .wrongLength(let part, let expected, let actual):
      "The \(part.rawValue) has \(actual) bytes instead of \(expected)."
    case .notAnObject(let part):
      "The \(part.rawValue) is not a JSON object."
    case .headerMember(let name):
      "The header's “\(name)” is missing or not a plain string."
    default: ""
    }
  }

  private var headerWords: String {
    switch self {
    case .algorithmRefused(let name):
      "The token names the algorithm \(name), which is not accepted. Accepted are "
        + KeyAlgorithm.allCases.map(\.rawValue).joined(separator: ", ") + "."
    case .algorithmMismatch(let token, let key):
      "The token names the algorithm \(token.rawValue), but its key is for \(key.rawValue) alone."
    case .encryptionRefused(let name):
      "The token names the content encryption \(name); only A256GCM is accepted."
    case .headerRefused(let name):
      "The header has “\(name)”, which is not accepted: tokens neither bring keys along, nor "
        + "compress, nor demand extensions."
    case .headerKeyInvalid:
      "The header's “epk” is missing, or is not a public key of P-256."
    case .keyUnknown(nil):
      "The token names no key. Configure its issuer to write “kid”, or make it optional here."
    case .keyUnknown(let name?):
      "The token names the key \(name), which is not known here. If keys were changed, the set of "
        + "keys is not up to date."
    case .typeRefused(let actual, let expected):
      "The token is of type \(actual ?? "none") instead of “\(expected)”."
    case .contentTypeRefused(let name):
      "The token's content is of type \(name), not claims."
    case .signatureWrong:
      "The signature is wrong: the token was altered, or signed with another key."
    case .signatureMissing:
      "The token is sealed to a public key, which everybody may have, and holds no signed token. "
        + "Sign it first, then seal it with the content type “JWT”."
    case .decryptionFailed:
      "The token cannot be opened: it was altered, or sealed with another key."
    default: ""
    }
  }

  private var claimWords: String {
    switch self {
    case .claimMissing(let name):
      "The claim “\(name)” is missing."
    case .claimInvalid(let name, let form):
      "The claim “\(name)” is wrong: \(form.words)."
    case .measurementInClear:
      "A measurement (imh, dmh, mpk) belongs into an encrypted token (JWE) only."
    case .expired(let end, let now):
      "The token expired at \(end); it is \(now). Fetch a new one."
    case .notYetValid(let start, let now):
      "The token is valid from \(start); it is \(now). Check the clocks."
    case .issuedInFuture(let time, let now):
      "The token says it was issued at \(time); it is \(now). Check the clocks."
    case .validTooLong(let end, let limit):
      "The token is valid until \(end), longer than the \(limit) seconds that are accepted."
    case .issuerRefused(let name):
      "The token's issuer is \(name ?? "not named"), which is not the expected one."
    case .audienceRefused(let names) where names.isEmpty:
      "The token does not say for whom it is, and must."
    case .audienceRefused(let names):
      "The token is for \(names.prefix(4).joined(separator: ", ")), not for this service."
    case .subjectRefused(let name):
      "The token's subject is \(name ?? "not named"), which is not the expected one."
    case .bindingWrong:
      "The token is bound to other data than came with it, or to none."
    default: ""
    }
  }

  private var keyWords: String {
    switch self {
    case .keyInvalid(let reason):
      "The key cannot be used: \(reason)."
    case .keyLength(let algorithm, let allowed, let actual):
      "A key for \(algorithm.rawValue) has "
        + (allowed.lowerBound == allowed.upperBound
          ? "\(allowed.lowerBound)" : "\(allowed.lowerBound) to \(allowed.upperBound)")
        + " bytes; this one has \(actual)."
    case .keyUnsupported(let reason):
      "The key is of a kind that is not supported: \(reason)."
    case .keyForOtherUse(let algorithm, let wanted):
      "The key for \(algorithm.rawValue) may not be used to \(wanted)."
    case .keyNotPublic:
      "The key has its private part, which belongs to its owner alone. Give only the public part."
    case .keyNotPrivate:
      "The key has only its public part; the private one is needed."
    case .keyIDRepeated(let name):
      "Two keys have the name \(name). Give each its own."
    case .keyIDMissing:
      "A key among several has no name. Give it a “kid”."
    case .keyIDInvalid:
      "A key's name must have 1 to \(JOSELimits.keyIDBytes) bytes and no control characters."
    case .secretInPublishedSet:
      "The published set of keys holds a secret. Whoever publishes it must replace that key."
    case .keyExhausted(let limit):
      "The key has sealed \(limit) tokens, as many as one key may. Change it."
    case .secretNotBase64(let alphabet):
      "The secret is not "
        + (alphabet == .url ? "base64url without padding" : "padded standard base64") + "."
    case .outOfRange(let what, let allowed, let actual):
      "The \(what) is \(actual); it must be from \(allowed.lowerBound) to \(allowed.upperBound)."
    case .randomFailed:
      "The system's generator of random bytes failed. Nothing was made."
    case .libraryFailed:
      "The library libcrypto failed: no memory, or its configuration took an algorithm away."
    case .heapNotReserved:
      "No secure heap: its size is not a power of two from 4 KiB to 64 MiB, the process may not lock "
        + "so much memory (ulimit -l), or it exists already."
    default: ""
    }
  }
}

extension ClaimForm {
  fileprivate var words: String {
    switch self {
    case .time: "it must be a number of seconds from the year 1970 to 9999"
    case .text:
      "it must be a string of at most \(JOSELimits.claimTextBytes) bytes without control characters"
    case .texts: "it must be a string or up to \(JOSELimits.claimTexts) strings in an array"
    case .bytes(let count): "it must be \(count) bytes in padded standard base64"
    case .base32: "it must be 1 to 32 characters of base32"
    case .address: "it must be an IP address"
    case .publicKey:
      "it must be an EC P-256 public key, DER SubjectPublicKeyInfo in padded standard base64"
    case .together: "imh, dmh and mpk come together or not at all"
    case .otherName: "it has a property of its own, and cannot be set as another claim"
    }
  }
}
