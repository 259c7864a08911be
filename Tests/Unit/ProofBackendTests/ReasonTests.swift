// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofService
import Testing

@Suite("Errors of backend and service tell who can mend them")
struct ReasonTests {
  static let errors: [(String, Mender, any ProofFailure)] = [
    ("BACKEND-1", .operator, BackendError.unknownHardware(.random())),
    ("BACKEND-7", .online, BackendError.superseded(issued: 2, offered: 1)),
    ("BACKEND-10", .retry, BackendError.refused(.resourcesExhausted(reason: "x"))),
    ("BACKEND-13", .retry, BackendError.inUse(path: "p", processID: nil)),
    ("ACCOUNT-1", .operator, StoreError.missing(path: "p")),
    ("ACCOUNT-5", .retry, StoreError.busy(path: "p")),
    ("SERVICE-1", .retry, ServiceError.store(.busy(path: "p"))),
    ("SERVICE-1", .operator, ServiceError.store(.full(path: "p"))),
    ("SERVICE-5", .operator, ServiceError.wrongPassphrase),
    ("SERVICE-15", .operator, ServiceError.noMemory),
  ]

  @Test("by a code and a party, also if another error is the cause", arguments: errors.indices)
  func codes(index: Int) {
    let (code, mender, error) = Self.errors[index]
    #expect(error.code == code)
    #expect(error.whoCanMend == mender)
  }
}
