// SPDX-License-Identifier: Apache-2.0

import ProofModel

typealias NamedChallenges = SharedCalls<String, Result<String, GateError>>

extension GateClient {
  /// Answers a challenge that the operator gave a name, blocking the calling thread.
  ///
  /// The session keeps the clearance and sends it with the requests that follow. Calls for one name at the same time
  /// share one answer.
  ///
  /// - Parameters:
  ///   - name: The challenge's name: 1 to 64 letters, digits, dots, hyphens and underscores.
  ///   - limit: The time limit. The time while a page is shown does not count.
  ///   - cancellation: Ends the call early.
  /// - Returns: The clearance that counts now. Keep none; ask ``clearance(for:)``.
  /// - Throws: ``GateError``; ``GateError/challenge(_:)`` with ``ChallengeError/unknownName(_:)`` for a name that the
  ///   gate does not know.
  package func attestAndWait(
    _ name: String, within limit: Duration = GateClient.time,
    cancellation: Cancellation = Cancellation()
  ) throws(GateError) -> String {
    let answer = Handover<Result<String, GateError>>()
    let place = NamedChallenges.Place { answer.give($0) }
    return try cancellation.withHandler({
      // Not under the cancellation's lock: leaving takes that of the calls.
      CorePool.pages.run { self.named.leave(name, place, .failure(.cancelled)) }
    }) { () throws(GateError) -> String in
      begin(name, limit, place)
      return try answer.wait().get()
    }
  }

  /// Answers a challenge that the operator gave a name, as ``attestAndWait(_:within:cancellation:)`` does, without
  /// blocking the calling thread.
  ///
  /// - Throws: ``GateError``; ``GateError/cancelled`` if the task is cancelled.
  package func attest(
    _ name: String, within limit: Duration = GateClient.time
  ) async throws(GateError) -> String {
    let place = CoreLock<NamedChallenges.Place?>(nil)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let taken = NamedChallenges.Place { continuation.resume(returning: $0) }
        place.withLock { $0 = taken }
        self.begin(name, limit, taken)
        if Task.isCancelled { self.named.leave(name, taken, .failure(.cancelled)) }
      }
    } onCancel: {
      if let taken = place.withLock({ $0 }) { self.named.leave(name, taken, .failure(.cancelled)) }
    }
    return try result.get()
  }

  private func begin(_ name: String, _ limit: Duration, _ place: NamedChallenges.Place) {
    named.begin(name, place) { [self] cancellation in
      do throws(GateError) {
        return .success(try answerNamed(name, limit, cancellation))
      } catch {
        return .failure(error)
      }
    }
  }

  private func answerNamed(
    _ name: String, _ limit: Duration, _ cancellation: Cancellation
  ) throws(GateError) -> String {
    let isName = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
      default: false
      }
    }
    guard isName, (1...64).contains(name.utf8.count), name != ".", name != ".." else {
      throw .challenge(.unknownName(Observation.line(String(name.prefix(80)))))
    }
    let origin = "\(session.scheme.rawValue)://\(session.host)"
    let response = try performAndWait(
      Request("GET", "\(origin)/.well-known/proofkit/challenges/\(name)"), within: limit,
      responseLimit: 4096, cancellation: cancellation)
    switch response.status {
    case 200:
      guard let text = (try? JSONText.parse(response.body))?.members?["clearance"]?.text,
        session.take(clearance: text, for: session.host)
      else {
        throw .challenge(.malformed(reason: "the answer is no clearance for \(session.host)"))
      }
      return text
    case 404: throw .challenge(.unknownName(name))
    default: throw .challenge(.rejected(status: response.status))
    }
  }
}
