// SPDX-License-Identifier: Apache-2.0

import Glibc
import ProofKit
import ProofModel
import Testing

@Suite("Errors tell who can mend them")
struct FailureTests {
  /// Every case, in the order of the numbers.
  static let everyError: [String: [any ProofFailure]] = {
    let id = InstanceID.random()
    let setup: [SetupError] = [
      .malformedConfiguration(reason: "x"), .untrustedConfiguration(reason: "x"),
      .configurationOfAnotherAccount(expected: "a", actual: "b"),
      .configurationTooOld(serial: 1, held: 2), .alreadyInitialized(account: "a"),
      .fetchesInFlight(count: 1), .storeUnusable(reason: "x"), .malformedRoute(reason: "x"),
      .notInitialized, .notMeasured(.measurementEnded),
    ]
    let store: [MeasurementStoreError] = [
      .noPlace, .unusable(path: "p", reason: "x"), .inUse(path: "p", processID: 1),
      .failed(path: "p", reason: "x"), .notDurable(path: "p", reason: "x"),
      .damaged(keptAs: "n", byteCount: 1), .tooNew(version: 9), .superseded(stored: 2, offered: 1),
      .otherInstance(stored: id, offered: id), .empty, .noMeasurement(AttestationError(.noService)),
      .repeatedHardware(.random()), .tokenForOther(.random()),
      .tooManyTokens(count: 257, allowed: 256), .notPaired(.random()),
    ]
    let strings: [SecureStringError] = [
      .badName(characterCount: 0), .badValue(byteCount: 0), .notThere(name: "n"), .noRoom(.count),
      .stringDamaged(name: "n"), .damaged(keptAs: "n", byteCount: 1), .tooNew(version: 9),
      .storageUnusable(reason: "x"), .notDurable(reason: "x"),
      .attestation(AttestationError(.noService, "x")),
      .cancelled,
    ]
    let transport: [TransportError] = [
      .unreachable("x"), .timedOut("x"), .brokenOff("x"), .untrusted("x"), .garbled("x"),
      .cancelled, .refused("x"),
    ]
    let key: [InstallationKeyError] = [
      .storage(path: "p", reason: "x"), .damaged(path: "p"), .inUse(path: "p"),
      .tpmAbsent(device: "d"), .tpmDenied(device: "d"), .tpmBusy(device: "d"),
      .tpmLockedOut(device: "d"), .tpmTimedOut(device: "d"), .tpmBrokenOff(device: "d"),
      .tpmHasOtherKey(device: "d", path: "p"), .tpmFailed(device: "d", code: 1), .libraryFailed,
    ]
    let challenge: [ChallengeError] = [
      .malformed(reason: "x"), .tooHard(level: 9, allowed: 1), .outOfMemory, .presenterMissing,
      .page(.cancelled), .bodyNotRepeatable, .unknownName("n"), .rejected(status: 403),
    ]
    return [
      "SETUP": setup, "STORE": store, "STRING": strings, "NET": transport, "KEY": key,
      "CHALLENGE": challenge,
    ]
  }()

  @Test(
    "by a code that is the number of the case, and by sentences",
    arguments: ["SETUP", "STORE", "STRING", "NET", "KEY", "CHALLENGE"])
  func codes(origin: String) throws {
    let errors = try #require(Self.everyError[origin])
    #expect(errors.map(\.code) == (1...errors.count).map { "\(origin)-\($0)" })
    #expect(Set(errors.map(\.description)).count == errors.count)
  }

  @Test("and the status of a fetch has a code of its number", arguments: FetchStatus.allCases)
  func statuses(status: FetchStatus) {
    #expect(status.code == "SDK-\(status.rawValue)")
  }

  @Test("also if another error is the cause")
  func causes() {
    let exhausted = ProofError.resourcesExhausted(reason: "too many open files")
    #expect(SetupError.notMeasured(exhausted).whoCanMend == .retry)
    #expect(SetupError.notMeasured(.evidenceWithheld([])).whoCanMend == .online)
    #expect(GateError.transport(.unreachable("x")).whoCanMend == .user)
    #expect(GateError.challenge(.presenterMissing).whoCanMend == .developer)
    #expect(GateError.installationKey(nil).whoCanMend == .developer)
    #expect(GateError.installationKey(.tpmBusy(device: "d")).whoCanMend == .retry)
    #expect(MeasurementStoreError.noMeasurement(AttestationError(.poorNetwork)).whoCanMend == .user)
    #expect(SecureStringError.attestation(AttestationError(.disabled, "x")).whoCanMend == .operator)
  }

  @Test("and descriptors that run out are told as that")
  func descriptors() async {
    await #expect(processExitsWith: .success) {
      let probe = try Probe(Probe.Options(hardens: false))
      let files = Probe.sources.filter { $0.id.evidenceClass == .app }
      while unsafe open("/dev/null", O_RDONLY) >= 0 {}
      do throws(ProofError) {
        _ = try probe.observe(
          files, policy: .full, limitLog2: 33, cancellation: Cancellation())
      } catch {
        guard case .resourcesExhausted = error, error.whoCanMend == .retry else { exit(2) }
        exit(0)
      }
      exit(3)
    }
  }
}
