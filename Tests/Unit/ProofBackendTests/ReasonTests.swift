// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofService
import ReasonRows
import Testing

@testable import ProofBackend

@Suite("Errors of backend and service tell who can mend them")
struct ReasonTests {
  /// Every case, in the order of the page's rows.
  static let everyError: [String: [any ProofFailure]] = {
    let (id, app) = (HardwareID.random(), InstanceID.random())
    let backend: [BackendError] = [
      .unknownHardware(id), .revokedHardware(id),
      .otherMode(app: .production, hardware: .development), .literalRefused(id),
      .factorySecretMissing(id), .downgraded(id),
      .superseded(issued: 2, offered: 1), .revokedInstance(app, through: 1),
      .clockAhead(of: 1, by: 1), .refused(.resourcesExhausted(reason: "x")),
      .storage(path: "p", reason: "x"), .damaged(path: "p", reason: "x"),
      .inUse(path: "p", processID: nil), .upcomingRefused(id), .otherFetch(app),
    ]
    let store: [StoreError] = [
      .missing(path: "p"), .foreign(path: "p"), .damaged(path: "p", detail: "x"),
      .tooNew(path: "p", version: 2, known: 1), .busy(path: "p"), .full(path: "p"),
      .failed(path: "p", detail: "x"), .database("p", detail: "x"),
      .alreadyThere(table: .api, key: "k"), .changedMeanwhile(table: .api, key: "k"),
      .moved(path: "p", to: "q"),
    ]
    let service: [ServiceError] = [
      .store(.busy(path: "p")), .jose(.randomFailed), .noAccount, .accountThere("a"),
      .wrongPassphrase, .wrongKeyFile, .otherLock(expected: "x"), .damaged("x"),
      .unknown("x", name: "n"), .alreadyThere("x", name: "n"),
      .invalid("x", value: "v", allowed: "a"), .inUse("x", by: "y"), .outOfTurn("x", instead: "y"),
      .notConfirmed, .noMemory,
    ]
    return [
      "BACKEND": backend, "TOKEN": TokenRefusal.Reason.allCases.map { TokenRefusal($0) },
      "ACCOUNT": store, "SERVICE": service,
    ]
  }()

  @Test("as the page of reasons says", arguments: ["BACKEND", "TOKEN", "ACCOUNT", "SERVICE"])
  func codes(origin: String) throws {
    let errors = try #require(Self.everyError[origin])
    let answers = errors.map { ReasonRows.Answer($0.code, "\($0.whoCanMend)") }
    #expect(try ReasonRows(of: origin).differences(from: answers) == [])
  }

  @Test("also if another error is the cause")
  func causes() {
    #expect(BackendError.refused(.resourcesExhausted(reason: "x")).whoCanMend == .retry)
    #expect(ServiceError.store(.busy(path: "p")).whoCanMend == .retry)
    #expect(ServiceError.store(.full(path: "p")).whoCanMend == .operator)
  }
}
