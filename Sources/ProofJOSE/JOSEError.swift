// SPDX-License-Identifier: Apache-2.0

/// The reason why a key, a token or a claim was refused, or could not be made.
///
/// Every function of this library that can fail throws this type, or ``JSONError`` where only JSON
/// can be wrong. The words never contain a secret. Received text appears only as a short, harmless
/// excerpt.
public enum JOSEError: Error, Sendable, Hashable {
  // Errors of a token's form.

  /// A token, header or payload is longer than is allowed.
  case tooLong(String, count: Int, limit: Int)
  /// A token has the wrong number of parts for its kind.
  case wrongParts(expected: Int, actual: Int)
  /// A part is not canonical base64url.
  case notBase64(TokenPart)
  /// A part is not JSON.
  case notJSON(TokenPart, JSONError)
  /// A part has the wrong length for its algorithm.
  case wrongLength(TokenPart, expected: Int, actual: Int)
  /// A part is not a JSON object.
  case notAnObject(TokenPart)
  /// A member of the header is missing or of the wrong kind.
  case headerMember(String)

  // Errors of a header.

  /// The algorithm is not one of this library's.
  case algorithmRefused(String)
  /// The algorithm is not the key's.
  case algorithmMismatch(token: KeyAlgorithm, key: KeyAlgorithm)
  /// The content encryption is not A256GCM.
  case encryptionRefused(String)
  /// The header demands an extension, compresses, or contains a key.
  case headerRefused(String)
  /// The sender's public key in the header (`epk`) is missing, or is not on P-256.
  case headerKeyInvalid
  /// The token names an unknown key, or no key.
  case keyUnknown(String?)
  /// The header's type is not the expected one.
  case typeRefused(String?, expected: String)
  /// The content is another token, not claims.
  case contentTypeRefused(String)

  // Authenticity.

  /// The signature is not this key's over this token.
  case signatureWrong
  /// The token does not open: wrong key or altered token, which cannot be told apart.
  case decryptionFailed
  /// A token that is sealed to a public key contains no signed one.
  case signatureMissing

  // Claims.

  /// A required claim is missing.
  case claimMissing(String)
  /// A claim is malformed.
  case claimInvalid(String, ClaimForm)
  /// A measurement is in a token that is not encrypted.
  case measurementInClear
  /// The token has expired.
  case expired(at: UnixTime, now: UnixTime)
  /// The token is not valid yet.
  case notYetValid(from: UnixTime, now: UnixTime)
  /// The token's time of issue is in the future.
  case issuedInFuture(at: UnixTime, now: UnixTime)
  /// The token's lifetime is too long.
  case validTooLong(until: UnixTime, limit: Int)
  /// The issuer is not the expected one.
  case issuerRefused(String?)
  /// The token is for another audience.
  case audienceRefused([String])
  /// The subject is not the expected one.
  case subjectRefused(String?)
  /// The token is not bound to the expected text.
  case bindingWrong

  // Keys.

  /// Bytes are not a key of the algorithm.
  case keyInvalid(String)
  /// A key's length is not allowed for its algorithm.
  case keyLength(KeyAlgorithm, allowed: ClosedRange<Int>, actual: Int)
  /// A key's description names no algorithm, or one that this library lacks.
  case keyUnsupported(String)
  /// The key is not for this use.
  case keyForOtherUse(KeyAlgorithm, wanted: String)
  /// The key is a private one, but only its public part belongs here.
  case keyNotPublic
  /// The key has no private part.
  case keyNotPrivate
  /// Two keys of a set have the same name.
  case keyIDRepeated(String)
  /// A key in a set has no name.
  case keyIDMissing
  /// A key identifier is empty, too long, or not printable.
  case keyIDInvalid
  /// A published set holds a secret.
  case secretInPublishedSet
  /// The key has sealed as many tokens as one key may.
  case keyExhausted(limit: UInt64)
  /// A secret's text is not canonical base64.
  case secretNotBase64(Base64Alphabet)

  // Wrong arguments.

  /// A value is outside its range.
  case outOfRange(String, allowed: ClosedRange<Int>, actual: Int)

  // The platform.

  /// The generator of random bytes failed.
  case randomFailed
  /// libcrypto failed: out of memory, or without an algorithm.
  case libraryFailed
  /// The secure heap could not be reserved.
  case heapNotReserved
}

/// A part of a token or key, for error messages.
public enum TokenPart: String, Sendable, Hashable {
  /// The first part.
  case header
  /// A signed token's second part, or a sealed one's content.
  case payload
  /// A signed token's third part.
  case signature
  /// A sealed token's second part.
  case encryptedKey = "encrypted key"
  /// A sealed token's third part.
  case initializationVector = "initialization vector"
  /// A sealed token's fourth part.
  case ciphertext
  /// A sealed token's fifth part.
  case tag
  /// A JSON Web Key.
  case key
  /// A set of JSON Web Keys.
  case keySet = "key set"
}

/// The way a claim must be written.
public enum ClaimForm: Sendable, Hashable {
  /// A number of seconds from 1970 to the year 9999.
  case time
  /// A string of bounded length that has no control characters.
  case text
  /// A string, or an array of strings.
  case texts
  /// A number of bytes in padded standard base64.
  case bytes(Int)
  /// Base32, up to 32 characters.
  case base32
  /// An IP address for people to read.
  case address
  /// The public key of an EC P-256 pair as DER SubjectPublicKeyInfo, in padded standard base64.
  case publicKey
  /// `imh`, `dmh` and `mpk` must come together.
  case together
  /// The name belongs to a typed claim.
  case otherName
}
