// SPDX-License-Identifier: Apache-2.0

import Console
import ProofKit
import ProofModel
import SimulatedDevices
import Synchronization

/// Attests until the pairs or the time are used up.
func attest(_ options: LoadOptions) -> Tally {
  let shared = Shared(options)
  Link.onThreads(options.connections) { _ in
    guard let link = Link(options) else {
      Terminal.complain("proof-load: \(options.address) or \(options.authority ?? "") is unusable")
      Terminal.end(2)
    }
    var tally = Tally()
    while let number = shared.next() {
      attest(device: number % options.devices, over: link, shared, &tally)
      if options.pause > 0 { Link.pause(milliseconds: UInt32(options.pause)) }
    }
    tally.connectionsOpened = link.opened
    shared.add(tally)
  }
  return shared.finished()
}

/// One challenge and one report.
private func attest(device number: Int, over link: Link, _ shared: Shared, _ tally: inout Tally) {
  let options = shared.options
  let clock = ContinuousClock()
  do {
    let device = try shared.fleet.device(number)
    let question = device.question()
    let begin = clock.now
    let challenge = try AttestationChallenge(
      link.post(question.bytes, to: "/v1/challenge", for: number))
    let middle = clock.now
    let report = try device.report(for: options.domain, answering: challenge)
    let again = clock.now
    let bytes = try send(report, over: link, for: number, options, &tally)
    let end = clock.now
    let answer = try AttestationAnswer(bytes, to: challenge.draft.salt, with: .sdk)
    tally.outcomes["\(answer.outcome)", default: 0] += 1
    guard answer.outcome == .done else { return }
    tally.challenges.append(microseconds(middle - begin))
    tally.reports.append(microseconds(end - again))
    tally.reportByteCount = report.count
    shared.accepted?.keep(report, bytes)
    shared.times?.keep(Array("\(Link.monotonicMilliseconds)".utf8))
    shared.tokens?.keep(Array(answer.token.utf8))
  } catch {
    tally.errors["\(error)", default: 0] += 1
    if options.isPatient {
      Link.pause(milliseconds: 5)
    } else if case Link.Failure.connection = error {
      shared.giveUp()
    }
  }
}

/// Sends a report. A patient generator sends one without an answer again, the same bytes: it may have
/// been accepted.
private func send(
  _ report: [UInt8], over link: Link, for number: Int, _ options: LoadOptions, _ tally: inout Tally
) throws(Link.Failure) -> [UInt8] {
  let end = ContinuousClock.now + .seconds(60)
  while true {
    do {
      return try link.post(report, to: "/v1/report", for: number)
    } catch {
      guard options.isPatient, error.mayPass, ContinuousClock.now < end else { throw error }
      tally.repeated += 1
      Link.pause(milliseconds: 50)
    }
  }
}

private func microseconds(_ time: Duration) -> UInt32 { UInt32(time / .microseconds(1)) }

/// Sends the reports of an earlier run again.
func replay(_ file: String, _ options: LoadOptions) -> Tally {
  let kept: [[UInt8]]
  do {
    kept = try ReportFile.read(file)
  } catch {
    Terminal.complain("proof-load: \(error)")
    Terminal.end(2)
  }
  // A report, then its answer.
  let shared = Shared(options, limit: kept.count / 2)
  Link.onThreads(options.connections) { _ in
    guard let link = Link(options) else { return }
    var tally = Tally()
    while let number = shared.next() {
      do {
        let (report, answer) = (kept[2 * number], kept[2 * number + 1])
        let again = try send(report, over: link, for: number, options, &tally)
        let name = try again == answer ? "same" : outcome(of: again, to: report)
        tally.outcomes[name, default: 0] += 1
        // Another report under the same salt: its tag is wrong, and that is not even looked at.
        var other = report
        other[other.count - 1] ^= 1
        let refusal = try send(other, over: link, for: number, options, &tally)
        tally.outcomes["other \(try outcome(of: refusal, to: report))", default: 0] += 1
      } catch {
        tally.errors["\(error)", default: 0] += 1
      }
    }
    tally.connectionsOpened = link.opened
    shared.add(tally)
  }
  return shared.finished()
}

private func outcome(of bytes: [UInt8], to report: [UInt8]) throws(ProofError) -> String {
  let salt = try AttestationReport.Head(report).salt
  return "\(try AttestationAnswer(bytes, to: salt, with: .sdk).outcome)"
}

/// State shared by the connections' threads.
private final class Shared: Sendable {
  let options: LoadOptions
  let fleet: Fleet
  let accepted: ReportFile?
  let times: ReportFile?
  let tokens: ReportFile?
  private let limit: Int
  private let start: ContinuousClock.Instant
  private let end: ContinuousClock.Instant?
  private let number = Atomic<Int>(0)
  private let isOver = Atomic<Bool>(false)
  private let tally = Mutex(Tally())

  init(_ options: LoadOptions, limit: Int? = nil) {
    self.options = options
    fleet = Fleet(options)
    self.limit = limit ?? options.pairs
    start = ContinuousClock.now
    end = limit == nil && options.seconds < .max ? start + .seconds(options.seconds) : nil
    accepted = options.accepted.map { ReportFile(writing: $0) }
    times = options.times.map { ReportFile(writing: $0) }
    tokens = options.tokens.map { ReportFile(writing: $0) }
  }

  /// The next piece of work; `nil` when there is none.
  func next() -> Int? {
    if isOver.load(ordering: .relaxed) { return nil }
    if let end, ContinuousClock.now >= end { return nil }
    let number = number.wrappingAdd(1, ordering: .relaxed).oldValue
    return number < limit ? number : nil
  }

  func giveUp() { isOver.store(true, ordering: .relaxed) }

  func add(_ other: Tally) { tally.withLock { $0.add(other) } }

  func finished() -> Tally {
    tally.withLock { tally in
      tally.seconds = (ContinuousClock.now - start) / .seconds(1)
      tally.processorSeconds = Link.processorSeconds
      return tally
    }
  }
}
