// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

extension JOSEError {
  /// `JOSE-` and the number of the case.
  public var code: String { "JOSE-\(number)" }

  private var number: Int {
    switch self {
    case .tooLong: 1
    case .wrongParts: 2
    case .notBase64: 3
    case .notJSON: 4
    case .wrongLength: 5
    case .notAnObject: 6
    case .headerMember: 7
    case .algorithmRefused: 8
    case .algorithmMismatch: 9
    case .encryptionRefused: 10
    case .headerRefused: 11
    case .headerKeyInvalid: 12
    case .keyUnknown: 13
    case .typeRefused: 14
    case .contentTypeRefused: 15
    case .signatureWrong: 16
    case .decryptionFailed: 17
    case .signatureMissing: 18
    case .claimMissing: 19
    case .claimInvalid: 20
    case .measurementInClear: 21
    case .expired: 22
    case .notYetValid: 23
    case .issuedInFuture: 24
    case .validTooLong: 25
    case .issuerRefused: 26
    case .audienceRefused: 27
    case .subjectRefused: 28
    case .bindingWrong: 29
    case .keyInvalid: 30
    case .keyLength: 31
    case .keyUnsupported: 32
    case .keyForOtherUse: 33
    case .keyNotPublic: 34
    case .keyNotPrivate: 35
    case .keyIDRepeated: 36
    case .keyIDMissing: 37
    case .keyIDInvalid: 38
    case .secretInPublishedSet: 39
    case .keyExhausted: 40
    case .secretNotBase64: 41
    case .outOfRange: 42
    case .randomFailed: 43
    case .libraryFailed: 44
    case .heapNotReserved: 45
    }
  }
}
