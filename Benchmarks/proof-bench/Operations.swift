// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofBench
import ProofKit
import ProofModel
import ProofService

/// One thing that is counted from below, the same every time.
struct Operation {
  let name: String
  /// How many times it is done between the marks.
  let count: Int
  /// Preparation, which is not counted.
  let prepare: () throws -> Void
  let body: () throws -> Void

  init(
    _ name: String, count: Int = 1, prepare: @escaping () throws -> Void = {},
    _ body: @escaping () throws -> Void
  ) {
    self.name = name
    self.count = count
    self.prepare = prepare
    self.body = body
  }

  /// Does it once without marks, so that what is looked up once is looked up, and then between marks.
  func run() throws {
    try prepare()
    for _ in 0..<count { try body() }
    try prepare()
    var failure: (any Error)?
    Instrument.window(name) {
      do { for _ in 0..<count { try body() } } catch { failure = error }
    }
    if let failure { throw failure }
  }
}

extension Operation {
  /// Operations in memory alone: their instructions are counted, and their system calls.
  static func inMemory(_ sample: Sample) throws -> [Operation] {
    let state = ProofKeyState(integrity: sample.key)
    let nonce = ProofNonce.random()
    let measurement = sample.measurement
    let raw = RawProof()
    let proof = state.proof(for: nonce, of: measurement)
    return try [
      Operation("proof.c", count: 100) { raw.make() },
      Operation("proof.swift", count: 100) { _ = state.proof(for: nonce, of: measurement) },
      Operation("check.swift", count: 100) {
        try state.check(proof, for: nonce, of: measurement)
      },
      Operation("scratch.c", count: 100) { raw.makeFromScratch() },
      Operation("floor.sodium", count: 100) { raw.compressTwice() },
    ] + judging(sample) + proving(sample) + ServiceDesk(MemoryStore()).operations("service")
  }

  /// Requests and events. `request.hmac` is the part that the hash takes.
  private static func proving(_ sample: Sample) throws -> [Operation] {
    let request = try RequestSample(sample)
    let event = try EventSample(sample)
    let desk = try JudgeDesk(sample)
    let waiting = Held<[ReceivedRequest]>([])
    return [
      Operation("request.hmac", count: 100) { request.hash() },
      Operation("request.sign", count: 100) { _ = try request.sign() },
      Operation("request.verify", count: 100) { try request.verify() },
      Operation("event.make", count: 100) { _ = try event.make() },
      Operation("event.verify", count: 100) { try event.verify() },
      Operation(
        "request.judge", prepare: { waiting.value = [try desk.standard()] },
        { for request in waiting.value { try desk.judge(request) } }),
    ]
  }

  /// The hardware's part of an unlock.
  private static func judging(_ sample: Sample) throws -> [Operation] {
    let conversation = Conversation(sample, try sample.verifier())
    _ = try conversation.present(sample.token())
    let secrets = sample.secrets
    let message = Held(Message.askForChallenge)
    return [
      Operation("verify.challenge") { _ = conversation.challenge() },
      Operation(
        "verify.command",
        prepare: {
          message.value = try sample.proved(answering: conversation.challenge(), secrets).message
        },
        {
          let verdict = conversation.judge(message.value)
          guard verdict == .accepted else { throw PeerError("the command is refused") }
        }),
    ]
  }

  /// Operations that ask the system for something: their system calls are counted.
  static func withSystem(_ sample: Sample, _ trees: Trees) throws -> [Operation] {
    let (grant, token, hardware, issuer) =
      (try sample.grant(), try sample.token(), sample.hardware, sample.issuer)
    let pair = try StoredPair(sample, tokens: 1)
    let points = try trees.curve("files", size: 4 << 10, counts: [1_000, 10_000])
    let warm = try Proved(points[0].folder, .warm)
    let kept = try Proved(points[0].folder, .kept)
    let cold = try Proved(points[0].folder, .cold)
    let desk = try ServiceDesk(SQLiteStore(creatingAt: Workplace.folder("calls") + "/store"))
    return [
      Operation("token.create") { _ = try grant.sealed(to: hardware.identity, signedBy: issuer) },
      Operation("token.open") { _ = try hardware.open(token) },
      Operation("store.persist") { try pair.persist() },
      Operation("store.load") { try pair.load() },
      Operation("measure.1000.cold") { try cold.prove() },
      Operation("measure.1000.warm") { try warm.prove() },
      Operation("measure.1000.kept") { try kept.prove() },
    ] + desk.operations("service.sqlite")
  }
}
