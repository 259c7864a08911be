// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

/// The requests that share a solution: of one host, kind and level.
struct ChallengeKey: Hashable, Sendable {
  let authority: String
  let kind: GateClient.Challenge.Kind
  let level: UInt8
}

/// Answers the challenges that one call of `perform` meets: each kind once, so that a route with several kinds is
/// served by one call.
///
/// Used by the thread of that call alone. A request leads its flight until its answer has come, because the clearance
/// comes with it. The clearance is kept before the flight ends, and a new leader looks for one before it solves
/// anything, so that requests at once cause one solution.
final class ChallengeAnswering {
  typealias Flights = ChallengeFlights<ChallengeKey, Member>

  /// The fields of the request that answers a challenge.
  private(set) var fields: [HeaderField] = []
  private let client: GateClient
  private let request: Request
  private let cancellation: Cancellation
  private let member = Member()
  private var led: (key: ChallengeKey, challenge: GateClient.Challenge)?
  private var followed: Set<GateClient.Challenge.Kind> = []
  private var answered: Set<GateClient.Challenge.Kind> = []

  init(_ client: GateClient, _ request: Request, _ cancellation: Cancellation) {
    self.client = client
    self.request = request
    self.cancellation = cancellation
  }

  private var session: GateSession { client.session }

  /// Takes an answer with status 428.
  ///
  /// - Parameters:
  ///   - response: The answer.
  ///   - sent: The request as it was sent.
  ///   - end: When the call must end, in uptime. Moved by the time that a page is shown.
  /// - Returns: Whether the request must be sent again, with ``fields``.
  /// - Throws: ``GateError``.
  func meet(
    _ response: Response, to sent: Request, before end: inout Duration
  ) throws(GateError) -> Bool {
    guard let challenge = try GateClient.challenge(in: response) else {
      session.log.write(.warning, "an answer with status 428 has no challenge")
      return false
    }
    fields = []
    finish()
    guard !answered.contains(challenge.kind) else { return false }
    let head = try session.head(of: sent)
    let key = ChallengeKey(authority: head.authority, kind: challenge.kind, level: challenge.level)
    let known = sent.values(of: GateField.clearance).first
    while true {
      let leads = try enter(key, before: &end)
      if leads { led = (key, challenge) }
      if !followed.contains(challenge.kind) {
        let isServed = newest(key).map { $0.text != known && $0.serves(challenge) } ?? false
        if !leads || isServed {
          followed.insert(challenge.kind)
          finish()
          return true
        }
      }
      if leads { break }
    }
    answered.insert(challenge.kind)
    fields = try client.fields(answering: challenge, for: request, head, &end, cancellation)
    return true
  }

  /// Ends the flight, and gives the others their words.
  func finish() {
    guard let (key, challenge) = led else { return }
    led = nil
    let isCleared = newest(key)?.serves(challenge) == true
    end(key, isCleared: isCleared)
  }

  private func end(_ key: ChallengeKey, isCleared: Bool) {
    // Words are given under the lock: a member that is not found waiting has its word.
    session.flights.withLock { flights in
      for (other, word) in flights.end(key, member, isCleared: isCleared) { other.give(word) }
    }
  }

  private func newest(_ key: ChallengeKey) -> Clearances.Held? {
    let now = session.clock.uptime()
    return session.state.withLock { $0.clearances.text(for: key.authority, at: now) }
  }

  /// Takes part in a flight, and waits where another request leads.
  ///
  /// - Returns: Whether this request leads; otherwise it follows.
  private func enter(_ key: ChallengeKey, before end: inout Duration) throws(GateError) -> Bool {
    let member = member
    member.reset()
    if session.flights.withLock({ $0.enter(key, member) }) { return true }
    let clock = session.clock
    let begun = clock.uptime()
    let left = end - begun
    let time = key.kind == .person ? ChallengeTimes.page : min(left, ChallengeTimes.share)
    cancellation.withHandler({ member.wake() }) { member.wait(for: time) }
    // The clock stands still while a page is shown, also for those who wait for its answer.
    if key.kind == .person { end += clock.uptime() - begun }
    if cancellation.isCancelled {
      if !session.flights.withLock({ $0.leave(key, member) }), member.word == .lead {
        self.end(key, isCleared: false)
      }
      throw .cancelled
    }
    if let word = member.word { return word == .lead }
    if time == left || clock.uptime() >= end {
      if session.flights.withLock({ $0.leave(key, member) }) { throw .timedOut }
    } else if session.flights.withLock({ $0.takeOver(key, member) }) {
      return true
    }
    return member.word == .lead
  }

  /// A request in a flight.
  final class Member: Sendable, Hashable {
    private let given = CoreLock<(word: Flights.Word?, signal: Handover<Bool>)>((nil, Handover()))

    var word: Flights.Word? { given.withLock { $0.word } }

    func reset() { given.withLock { $0 = (nil, Handover()) } }

    func give(_ word: Flights.Word) {
      given.withLock { given in
        given.word = word
        given.signal.give(true)
      }
    }

    func wake() { given.withLock { $0.signal }.give(true) }

    func wait(for time: Duration) { _ = given.withLock { $0.signal }.wait(for: time) }

    static func == (left: Member, right: Member) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }
}
