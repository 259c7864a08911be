// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Enrolment")
struct EnrolmentTests {
  let url = "https://api.example.com/grant"

  @Test("measures, asks for a token and stores both, so that a restart needs no network")
  func enrolled() async throws {
    let stage = try AppStage()
    let lock = try Sample.hardware(1)
    let pair = try await stage.attestor.enrol(lock, at: url)
    #expect(pair.id == lock)
    #expect(try pair.token == AppNetwork.token(lock))
    #expect(pair.instance == (try await stage.attestor.instance()))
    let asked = stage.network.state.withLock { $0.asked }
    #expect(asked.count == 1 && asked[0].hardware == "\(lock)")
    #expect(asked[0].bearer.hasPrefix("Bearer e30."))
    #expect(try stage.attestor.pairs.hardware(lock) == pair)
    #expect(try MeasurementStore.inspect(folder: stage.folder + "/measurement")?.tokens.count == 1)
  }

  @Test("renews each pair that there is, in one step and one generation")
  func several() async throws {
    let stage = try AppStage()
    try await stage.attestor.renew(at: url)
    #expect(stage.service.state.withLock { $0.counts.isEmpty }, "there is nothing to renew")
    let locks = try [1, 2, 3].map { try Sample.hardware($0) }
    for lock in locks { try await stage.attestor.enrol(lock, at: url) }
    #expect(stage.network.state.withLock { $0.asked.count } == 1 + 2 + 3)
    let before = try stage.attestor.pairs.all()
    #expect(before.map(\.id) == locks && Set(before.map(\.generation)).count == 1)
    try await stage.attestor.renew(at: url)
    let after = try stage.attestor.pairs.all()
    #expect(after.map(\.id) == locks && after[0].generation > before[0].generation)
    try stage.attestor.pairs.remove(locks[1])
    #expect(try stage.attestor.pairs.all().map(\.id) == [locks[0], locks[2]])
    try stage.attestor.pairs.erase()
    #expect(try stage.attestor.pairs.all().isEmpty)
    #expect(throws: MeasurementStoreError.notPaired(locks[0])) {
      try stage.attestor.pairs.hardware(locks[0])
    }
  }

  @Test("enrolments at the same time come one after the other, and lose no pair")
  func concurrent() async throws {
    let stage = try AppStage()
    let attestor = stage.attestor
    let locks = try (1...6).map { try Sample.hardware($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lock in locks { group.addTask { try await attestor.enrol(lock, at: url) } }
      try await group.waitForAll()
    }
    #expect(try attestor.pairs.all().map(\.id) == locks)
  }

  @Test("on an error everything stays as it was, and the error says whose it is")
  func failures() async throws {
    let stage = try AppStage()
    let lock = try Sample.hardware(1)
    let pair = try await stage.attestor.enrol(lock, at: url)
    func error(_ change: (inout AppNetwork.State) -> Void) async throws -> EnrolmentError? {
      stage.network.state.withLock { change(&$0) }
      defer {
        stage.network.state.withLock { state in
          (state.status, state.isGarbled, state.failure) = (200, false, nil)
        }
      }
      return await #expect(throws: EnrolmentError.self) {
        try await stage.attestor.renew(at: url)
      }
    }
    #expect(try await error { $0.status = 403 } == .backend(status: 403, word: "hardware"))
    stage.network.state.withLock { $0.word = String(repeating: "a", count: 199) + "bc" }
    let long = String(repeating: "a", count: 199) + "b"
    #expect(try await error { $0.status = 500 } == .backend(status: 500, word: long))
    #expect(try await error { $0.failure = .unreachable("x") } == .transport(.unreachable("x")))
    guard case .unusableToken = try await error({ $0.isGarbled = true }) else {
      Issue.record("a token of two bytes was taken")
      return
    }
    stage.service.set { $0.status = 503 }
    let service = await #expect(throws: EnrolmentError.self) {
      try await stage.attestor.renew(at: url)
    }
    guard case .attestation(let cause) = service else {
      Issue.record("\(String(describing: service))")
      return
    }
    #expect(cause.reason == .serviceUnavailable && service?.whoCanMend == .retry)
    #expect(service?.code == "ENROL-1" && service?.reason == service)
    #expect(try stage.attestor.pairs.all() == [pair])
  }

  @Test(
    "a revoked piece of hardware loses its pair and holds up no other; any other refusal changes nothing",
    arguments: [
      (403, "hardware", true), (403, "<html>", false), (503, "hardware", false),
    ])
  func revoked(status: Int, word: String, isOfHardware: Bool) async throws {
    let stage = try AppStage()
    let locks = try [1, 2, 3].map { try Sample.hardware($0) }
    for lock in locks.dropLast() { try await stage.attestor.enrol(lock, at: url) }
    let refusal = EnrolmentError.backend(status: status, word: word)
    #expect(refusal.isOfHardware == isOfHardware)
    let issue: Attestor.Issue = { _, hardware in
      guard hardware != locks[0] else { throw refusal }
      return try AppNetwork.token(hardware)
    }
    if isOfHardware {
      try await stage.attestor.enrol(locks[2], for: "api.example.com", issue: issue)
      #expect(try stage.attestor.pairs.all().map(\.id) == [locks[1], locks[2]])
    } else {
      await #expect(throws: refusal) {
        try await stage.attestor.enrol(locks[2], for: "api.example.com", issue: issue)
      }
      #expect(try stage.attestor.pairs.all().map(\.id) == [locks[0], locks[1]])
    }
    // The hardware that is asked for, and the last that there is: its tokens stay.
    let before = try stage.attestor.pairs.all()
    await #expect(throws: refusal) {
      try await stage.attestor.enrol(locks[0], for: "api.example.com", issue: issue)
    }
    await #expect(throws: refusal) {
      try await stage.attestor.renew(for: "api.example.com") { _, _ in throw refusal }
    }
    #expect(try stage.attestor.pairs.all() == before)
  }

  @Test("a closure of the app issues the tokens; what it throws is told")
  func closure() async throws {
    struct Refused: Error {}
    let stage = try AppStage()
    let lock = try Sample.hardware(2)
    let error = await #expect(throws: EnrolmentError.self) {
      try await stage.attestor.enrol(lock, for: "api.example.com") { _, _ in throw Refused() }
    }
    #expect(error == .issuing("Refused()") && error?.whoCanMend == .developer)
    let pair = try await stage.attestor.enrol(lock, for: "api.example.com") { measured, hardware in
      #expect(measured.token.text.hasPrefix("e30."))
      return try AppNetwork.token(hardware)
    }
    #expect(pair.id == lock)
    let other = await #expect(throws: EnrolmentError.self) {
      try await stage.attestor.enrol(lock, for: "api.example.com") { _, _ in
        try AppNetwork.token(Sample.hardware(9))
      }
    }
    #expect(other == .store(.tokenForOther(lock)))
  }

  @Test("a cancelled enrolment has stored nothing")
  func cancelled() async throws {
    let stage = try AppStage()
    let (attestor, network) = (stage.attestor, stage.network)
    let lock = try Sample.hardware(1)
    let (begun, latch) = (Handover<Bool>(), Latch())
    network.state.withLock { state in
      state.isIssuing = {
        begun.give(true)
        latch.wait()
      }
    }
    let call = Task { try await attestor.enrol(lock, at: "https://api.example.com/grant") }
    await begun.arrival()
    call.cancel()
    latch.open()
    await #expect(throws: EnrolmentError.cancelled) { try await call.value }
    #expect(try attestor.pairs.all().isEmpty)
  }

  @Test("proofs need an enrolment, and no network")
  func proofs() async throws {
    let stage = try AppStage()
    let nonce = ProofNonce.random()
    let early = await #expect(throws: MeasurementError.self) {
      try await stage.attestor.proof(answering: nonce)
    }
    #expect(early == .store(.empty) && early?.whoCanMend == .online)
    let pair = try await stage.attestor.enrol(Sample.hardware(1), at: url)
    stage.service.set { $0.failure = .unreachable("x") }
    let prover = Prover(config: pair.config, collector: stage.scene)
    #expect(
      try await stage.attestor.proof(answering: nonce)
        == prover.integrityMeasurementProof(nonce: nonce))
    #expect(
      try await stage.attestor.proof(of: .device, answering: nonce)
        == prover.deviceMeasurementProof(nonce: nonce))
    // Only a probe compares.
    await #expect(throws: MeasurementError.self) { try await stage.attestor.diagnose() }
  }
}
