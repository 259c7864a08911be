/// Why a key, a token or a claim was refused, or could not be made.
///
/// Every function of this library that can fail throws this type, or ``JSONError`` where only JSON
/// can be wrong. The words never contain a secret. Received text appears only as a short, harmless
/// excerpt.
public enum JOSEError: Error, Sendable, Hashable {
  // The form of a token.

  /// A token, header or payload is longer than is allowed.
  case tooLong(String, count: Int, limit: Int)
  /// A token has another number of parts than its kind.
  case wrongParts(expected: Int, actual: Int)
  /// A part is not canonical base64url.
  case notBase64(TokenPart)
  /// A part is not JSON.
  case notJSON(TokenPart, JSONError)
  /// A part has another length than its algorithm gives it.
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
  /// The header demands an extension, compresses, or brings a key along.
  case headerRefused(String)
  /// The sender's public key in the header (`epk`) is missing, or none of P-256.
  case headerKeyInvalid
  /// The token names another key, no key, or one of no known name.
  case keyUnknown(String?)
  /// The header's type is not the expected one.
  case typeRefused(String?, expected: String)
  /// The content is another token, not claims.
  case contentTypeRefused(String)

  // Authenticity.

  /// The signature is not the key's over this token.
  case signatureWrong
  /// The token does not open: wrong key or altered token, which cannot be told apart.
  case decryptionFailed
  /// A token that is sealed to a public key holds no signed one.
  case signatureMissing

  // Claims.

  /// A claim that must be there is not.
  case claimMissing(String)
  /// A claim is not written as it must be.
  case claimInvalid(String, ClaimForm)
  /// A measurement stands in a token that anybody can read.
  case measurementInClear
  /// The token has expired.
  case expired(at: UnixTime, now: UnixTime)
  /// The token is not valid yet.
  case notYetValid(from: UnixTime, now: UnixTime)
  /// The token says that it was issued in the future.
  case issuedInFuture(at: UnixTime, now: UnixTime)
  /// The token is valid for longer than any should be.
  case validTooLong(until: UnixTime, limit: Int)
  /// The issuer is not the expected one.
  case issuerRefused(String?)
  /// The token is for others.
  case audienceRefused([String])
  /// The subject is not the expected one.
  case subjectRefused(String?)
  /// The token is not bound to the expected text.
  case bindingWrong

  // Keys.

  /// Bytes are not a key of the algorithm.
  case keyInvalid(String)
  /// A key's length is not one that its algorithm takes.
  case keyLength(KeyAlgorithm, allowed: ClosedRange<Int>, actual: Int)
  /// A key's description does not say its algorithm, or says one that this library has not.
  case keyUnsupported(String)
  /// The key is not for this use.
  case keyForOtherUse(KeyAlgorithm, wanted: String)
  /// The key is made elsewhere: only its public part belongs here.
  case keyNotPublic
  /// The key has only its public part.
  case keyNotPrivate
  /// A set holds two keys of one name.
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
  /// No secure heap could be had.
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

/// How a claim must be written.
public enum ClaimForm: Sendable, Hashable {
  /// A number of seconds from 1970 to the year 9999.
  case time
  /// A string without control characters, of a bounded length.
  case text
  /// A string, or an array of strings.
  case texts
  /// So many bytes in padded standard base64.
  case bytes(Int)
  /// Base32, up to 32 characters.
  case base32
  /// An IP address for people to read.
  case address
  /// The public key of an EC P-256 pair as DER SubjectPublicKeyInfo, in padded standard base64.
  case publicKey
  /// `imh`, `dmh` and `mpk` stand together.
  case together
  /// The name belongs to a typed claim.
  case otherName
}
