// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofGate
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofKit

/// A gate within the test's process that sets and judges challenges with the gate's own desks.
final class ChallengingGate: Transport {
  /// The kind that a route asks for, and the gate's counts.
  struct State {
    var kind = ChallengeKind.work
    var level: UInt8 = 6
    /// Whether each clearance counts once.
    var spends = false
    /// Whether each answer is refused.
    var refusesAll = false
    var secret: GateSecret?
    var set = 0
    var answered = 0
    var served = 0
    var requests: [Request] = []
    var refusals: [String] = []
  }

  let state = CoreLock(State())
  let gate: TestGate
  let challenges: ChallengeDesk
  let clearances: ClearanceDesk
  /// Called with each request before it is judged, on the request's thread.
  let arrived = CoreLock<@Sendable (Request) -> Void>({ _ in })

  init(_ gate: TestGate, _ time: ManualClock) throws {
    self.gate = gate
    let own = try GateOwnKeys(
      of: gate.id,
      [GateOwnSecret(SecretBytes(copying: [UInt8](repeating: 3, count: 32).span), number: 1)])
    let clock = UnixClock { time.now }
    var settings = ChallengeDesk.Settings()
    settings.clock = clock
    challenges = try ChallengeDesk(own, replay: MemoryReplayStore(), settings: settings)
    var other = ClearanceDesk.Settings()
    other.clock = clock
    clearances = try ClearanceDesk(own, replay: MemoryReplayStore(), settings: other)
  }

  func set(_ change: @escaping @Sendable (inout State) -> Void) { state.withLock { change(&$0) } }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let sent = Request(
      request.method ?? "", request.url, fields: request.fields ?? [], body: request.body)
    state.withLock { $0.requests.append(sent) }
    arrived.withLock { $0 }(sent)
    if request.cancellation.isCancelled { throw .cancelled }
    do {
      return try answer(sent)
    } catch {
      throw .garbled("\(error)")
    }
  }

  /// The subject that a request is bound to, for an app that proved it.
  func subject(_ request: Request, _ handle: GateHandle) throws -> ChallengeSubject {
    let head = try RequestHead(method: request.method, url: request.url)
    return try ChallengeSubject(
      ChallengePlace(
        method: head.method, scheme: head.scheme.rawValue, authority: head.authority,
        target: head.target), from: .app(handle))
  }

  private func answer(_ request: Request) throws -> TransportResponse {
    let secret: GateSecret
    if let known = state.withLock({ $0.secret }) {
      secret = known
    } else {
      secret = try gate.open(request)
      state.withLock { $0.secret = secret }
    }
    _ = try gate.check(request, secret: secret)
    let keys = secret.keys
    let subject = try subject(request, keys.handle)
    let (kind, level, spends) = state.withLock { ($0.kind, $0.level, $0.spends) }
    var fields = HeaderFields()
    for field in request.fields { try fields.append(field.name, field.value) }
    if let field = try ClearanceField(in: fields),
      let held = try? clearances.check(
        field, for: subject.place.authority, proven: keys.handle, from: ""),
      ClearanceRule(.init(kind, level: level)).isSatisfied(by: held)
    {
      guard spends else { return served() }
      if (try? clearances.spend(held, from: subject.client)) != nil { return served() }
    }
    if let id = request.values(of: GateField.challenge).first {
      let text = request.values(of: GateField.answer).first ?? ""
      do {
        let challenge = try judge(text, to: id, subject, keys)
        state.withLock { $0.answered += 1 }
        return served(clearances.clearance(for: challenge, subject).text)
      } catch {
        state.withLock { $0.refusals.append("\(error)") }
      }
    }
    state.withLock { $0.set += 1 }
    let challenge = challenges.set(kind, level: level, for: subject)
    return TransportResponse(
      status: 428, body: [], fields: [HeaderField("Proof-Challenge", challenge.text)])
  }

  private func judge(
    _ text: String, to id: String, _ subject: ChallengeSubject, _ keys: GateKeys
  ) throws -> GateChallenge {
    if state.withLock({ $0.refusesAll }) { throw ChallengeRefusal.wrong }
    let answer: ChallengeAnswer =
      switch state.withLock({ $0.kind }) {
      case .memoryWork: .memoryWork(text)
      case .proof: .proof(try Digest(Base64.decode(text, .url) ?? []), keys)
      default: .work(text)
      }
    return try challenges.judge(answer, to: id, for: subject)
  }

  private func served(_ clearance: String? = nil) -> TransportResponse {
    state.withLock { $0.served += 1 }
    return TransportResponse(
      status: 200, body: Array("served".utf8),
      fields: clearance.map { [HeaderField("Proof-Clearance", $0)] } ?? [])
  }
}

extension GateStage {
  /// A client at a gate that sets challenges.
  func challenging(
    _ settings: ChallengeSettings = ChallengeSettings(),
    _ change: @escaping @Sendable (inout ChallengingGate.State) -> Void = { _ in }
  ) throws -> (GateClient, ChallengingGate) {
    let gate = try ChallengingGate(gate, time)
    gate.set(change)
    return (GateClient(session, over: gate, challenges: settings), gate)
  }
}

/// The id of a challenge that no gate set: a client cannot tell.
func challengeID(_ kind: UInt8, level: UInt8 = 0) -> String {
  Base64.encode([0x10 | kind, 1, level, 0] + [UInt8](repeating: 7, count: 56), .url)
}

/// An answer with status 428 and a challenge.
func challenged(_ id: String) -> TransportResponse {
  TransportResponse(status: 428, body: [], fields: [HeaderField("Proof-Challenge", id)])
}
