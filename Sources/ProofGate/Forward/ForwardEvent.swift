// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel
internal import ProofRequest

// The last step: the event token of a request whose rule needs one.

/// The reason why the event token of a request does not count.
enum EventRefusal: Error, Hashable {
  /// The request has none.
  case missing
  /// The request has several.
  case repeated
  /// The value of `Proof-Account` is no digest of an account.
  case account
  /// The redeemer's reason.
  case judged(EventJudgement.Reason)

  /// A word for metrics.
  var code: String {
    switch self {
    case .missing: "event-missing"
    case .repeated: "event-repeated"
    case .account: "event-account"
    case .judged(let reason): "event-\(reason.word)"
    }
  }

  /// The class that the client is told: `clock` if a token with the gate's time can count, else `refused`.
  var told: GateRefusal.Kind {
    guard case .judged(.refused(let refusal)) = self, refusal.kind == .clock else {
      return .refused
    }
    return .clock
  }
}

extension EventRefusal: CustomStringConvertible {
  /// One sentence for a log.
  var description: String {
    switch self {
    case .missing: "The rule needs an event, and the request has no \(ForwardedRequest.eventField)."
    case .repeated: "The request has \(ForwardedRequest.eventField) more than once."
    case .account:
      "The value of \(StandardForm.accountField) is not a number, a dot and a digest in base64url."
    case .judged(let reason): reason.description
    }
  }
}

extension ForwardGate {
  /// Redeems the event token of a request that passes otherwise. Where the rule only watches, the token is judged and
  /// not used up, so that an API that redeems tokens by itself still gets its judgement.
  ///
  /// - Parameters:
  ///   - question: The question.
  ///   - found: What the request's proof said.
  ///   - handle: The app's handle in base64url.
  /// - Returns: The event that counted; nil if the rule needs none or only watches.
  /// - Throws: ``Lack``.
  func event(
    of question: Question, _ found: RequestVerdict?, _ handle: String?
  ) throws(Lack) -> GateVerdict.Event? {
    guard let number = question.rule.need.event else { return nil }
    guard let redeemer, let found else {
      preconditionFailure("RouteNeed has checked for the proof, and RouteFile for the redeemer.")
    }
    let asked: EventVerifier.Question
    do throws(EventRefusal) {
      asked = try Self.asked(number, question, found)
    } catch {
      throw .event(error)
    }
    let isWatched = isWatched(question, handle)
    let judgement = isWatched ? redeemer.check(asked) : redeemer.judge(asked)
    switch judgement.reason {
    case nil:
      return isWatched ? nil : GateVerdict.Event(number, judgement, asked.accountDigest)
    case .store:
      throw .doubt(code: "event-store", reason: "The replay store of events did not answer.")
    case .beforeStart:
      throw .doubt(
        code: "event-before-start", reason: EventJudgement.Reason.beforeStart.description)
    case .refused(.handle) where Self.names(asked.token, found.facts.handle):
      // The redeemer has forgotten the app, and learns its keys from a ticket or token only.
      requests.forget(found.facts.handle)
      throw .rejected(.request(.unknownKey))
    case let reason?:
      throw .event(.judged(reason))
    }
  }

  /// The redeemer's question about a request's event token: it must be of the app that has proved the request, and
  /// cover the account and the body that the proof covers.
  private static func asked(
    _ number: UInt16, _ question: Question, _ found: RequestVerdict
  ) throws(EventRefusal) -> EventVerifier.Question {
    let fields = question.head.fields
    guard let token = fields.first(ForwardedRequest.eventField) else { throw .missing }
    guard fields.count(of: ForwardedRequest.eventField) == 1 else { throw .repeated }
    var asked = EventVerifier.Question(token, event: number, address: question.address)
    asked.instance = found.facts.instance
    if let text = fields.first(StandardForm.accountField) {
      guard let account = EventAccount(text) else { throw .account }
      asked.accountDigest = account
    }
    // An app names no data for an empty body.
    if let body = found.body, body != Digest(hashing: []) { asked.digest = body }
    return asked
  }

  /// Whether an event token names an app.
  private static func names(_ token: String, _ handle: GateHandle) -> Bool {
    (try? CompactToken.head(of: token, as: .event))?.handle == handle
  }
}
