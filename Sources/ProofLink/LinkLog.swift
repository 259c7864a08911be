// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Collects the hardware's log, part by part, on one link. It measures nothing and reads no entry.
///
/// Parts that came stay: a link that ends after the first part ends the exchange with the parts so far.
extension LinkExchange {
  /// Parts that one exchange collects before it ends: hardware that tells of ever more entries must
  /// not hold a call for good.
  package static let logPartCountMax = 64
  /// Timeouts in a row before it gives up.
  static let logTimeoutCountMax = 3

  /// Looks for the log's characteristic, behind the others.
  mutating func findLog() {
    guard let last = table?.values.values.max(), last < UInt16.max else { return missLog() }
    findLog(in: (last + 1)...UInt16.max)
  }

  private mutating func findLog(in range: ClosedRange<UInt16>) {
    enter(.findingLog(range))
    send(LinkPDU.attributes(LinkPDU.characteristic, in: range))
  }

  mutating func foundLog(_ pdu: [UInt8], in range: ClosedRange<UInt16>) {
    switch LinkOpening.search(pdu, for: AttributeTable.logNumber, in: range) {
    case .nothing: break
    case .value(let handle):
      logHandle = handle
      askForLog()
    case .goOn(let rest): findLog(in: rest)
    case .missing: missLog()
    }
  }

  private mutating func askForLog() {
    guard case .log(let first, let nonce) = request.task else { return }
    enter(.askingForLog)
    tell(
      .askForLog(from: logParts.last?.entries.upperBound ?? first, answering: nonce), at: logHandle)
  }

  mutating func logged(_ message: Message) {
    guard case .askingForLog = phase, case .log(let first, let nonce) = request.task,
      let part = try? HardwareLogPart(answering: nonce, message)
    else { return }
    // The answer to a question before this one begins earlier: it came twice.
    let due = min(logParts.last?.entries.upperBound ?? first, part.next)
    guard part.entries.lowerBound >= due else { return }
    logTimeoutCount = 0
    logParts.append(part)
    if part.isLast || part.entries.isEmpty || logParts.count == Self.logPartCountMax {
      finish(.success(.log(logParts)))
    } else {
      askForLog()
    }
  }

  mutating func refusedLog(_ answer: Answer) {
    guard answer.isHint, answer.counter == 0 else { return }
    switch answer.verdict {
    case .notPermitted: finish(.failure(LinkError(.logNotPermitted)))
    case .malformed: missLog()
    // The hardware gives so many parts for each accepted command.
    case .busy where endLog(): break
    case .busy: finish(.failure(LinkError(.logNotPermitted)))
    default: finish(.failure(.refused(answer.verdict, answer.refusal, isAuthenticated: false)))
    }
  }

  mutating func logTimedOut() {
    logTimeoutCount += 1
    if logTimeoutCount < Self.logTimeoutCountMax {
      if case .findingLog(let range) = phase { findLog(in: range) } else { askForLog() }
    } else if !endLog() {
      // A new link would be one without an accepted command.
      mayRestart = false
      fail(LinkError(.linkLost))
    }
  }

  /// Ends the exchange with the parts that came. False if there are none.
  mutating func endLog() -> Bool {
    guard !logParts.isEmpty else { return false }
    finish(.success(.log(logParts)))
    return true
  }

  private mutating func missLog() { finish(.failure(LinkError(.logMissing))) }
}
