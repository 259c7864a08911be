// SPDX-License-Identifier: Apache-2.0

import Glibc
import ProofKit
import ProofModel
import ReasonRows
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
      .outOfRange(field: "f", value: "v", allowed: "a"), .needsNewAttestor(setting: "s"),
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
    let gate: [GateError] = [
      .notStarted, .notReady(nil), .attestation(AttestationError(.rejected)),
      .notMeasured(reason: "x"), .environmentChanged, .storageUnusable(reason: "x"),
      .malformedHost("h"), .hostNotListed("h"), .malformedMethod("m"),
      .malformedRequest(reason: "x"), .unknownEvent(7), .malformedAccount(byteCount: 0),
      .tokenRefused, .challenge(.page(.cancelled)), .transport(.refused("x")), .timedOut,
      .cancelled, .installationKey(.libraryFailed),
    ]
    let enrolment: [EnrolmentError] = [
      .attestation(AttestationError(.noService)), .transport(.refused("x")),
      .backend(status: 403, word: "w"), .issuing("x"), .unusableToken(.measurementEnded),
      .store(.empty), .cancelled,
    ]
    let measurement: [MeasurementError] = [
      .notMeasured(.measurementEnded), .store(.empty), .cancelled,
    ]
    return [
      "SETUP": setup, "STORE": store, "STRING": strings, "NET": transport, "KEY": key,
      "CHALLENGE": challenge, "GATE": gate, "ENROL": enrolment,
      "MEASURE": measurement,
    ]
  }()

  @Test("as the page of reasons says, and by sentences", arguments: everyError.keys.sorted())
  func codes(origin: String) throws {
    let errors = try #require(Self.everyError[origin])
    let answers = errors.map { ReasonRows.Answer($0.code, "\($0.whoCanMend)") }
    #expect(try ReasonRows(of: origin).differences(from: answers) == [])
    #expect(Set(errors.map(\.description)).count == errors.count)
  }

  @Test("and an error of the gate's page has a code of the page of reasons")
  func pages() throws {
    let errors: [PresenterError] = [
      .verificationFailed, .system, .parameter, .cancelled, .cannotBeShown, .abnormalData,
      .internal, .network,
    ]
    let answers = errors.map { ReasonRows.Answer("PAGE-\($0.rawValue)", nil) }
    #expect(try ReasonRows(of: "PAGE").differences(from: answers) == [])
  }

  @Test("and so does the status of a fetch")
  func statuses() throws {
    let answers = FetchStatus.allCases.map { ReasonRows.Answer($0.code, "\($0.whoCanMend)") }
    #expect(try ReasonRows(of: "SDK").differences(from: answers) == [])
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
