// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Handles the hardware's answers.
extension LinkExchange {
  mutating func answered(_ answer: Answer) {
    switch phase {
    case .presenting: ask(.check(answer), in: .checking(answer))
    case .commanding: judged(answer)
    case .recalling: recalled(answer)
    case .ordering: ordered(answer)
    case .down, .opening, .reading, .checking, .proving, .remeasuring, .ended: break
    }
  }

  mutating func checked(_ result: Result<Receipt?, LinkError>) {
    guard case .checking(let answer) = phase else { return }
    switch result {
    case .failure(let error): fail(error)
    case .success(let receipt?) where receipt.verdict == .held:
      isHeld = true
      // Ask about an open command before anything else.
      if case .present = request.task, openRecall == nil {
        finish(.success(.receipt(receipt)))
      } else {
        proceed()
      }
    case .success:
      // Forged answers do not prolong the wait for the hardware's: its timer runs on.
      phase = .presenting
      if answer.isHint, answer.counter == 0 { refuse(answer) }
    }
  }

  private mutating func ordered(_ answer: Answer) {
    guard answer.isHint, answer.counter == 0 else { return }
    if answer.verdict == .orderDone {
      finish(.success(.orderDone))
    } else {
      refuse(answer)
    }
  }

  private mutating func judged(_ answer: Answer) {
    guard let outstanding, answer.counter == outstanding.counter else { return }
    guard let receipt = try? outstanding.receipt(of: answer) else {
      // The answer is forgeable, or was made with another key.
      hint = answer.verdict
      recall()
      return
    }
    switch receipt.verdict {
    case .accepted, .acceptedDeviceOnly:
      self.outstanding = nil
      finish(.success(.receipt(receipt)))
    case .stale:
      // A copy of the command may have arrived first, and its receipt been lost.
      recall()
    default:
      refused(receipt)
    }
  }

  private mutating func recalled(_ answer: Answer) {
    guard let recall = openRecall, answer.counter == recall.counter else { return }
    guard let receipt = try? recall.receipt(of: answer) else {
      doubt(answer)
      return
    }
    let outcome = Outcome(receipt)
    if outstanding == nil {
      settled(outcome)
      return
    }
    switch outcome {
    case .accepted:
      outstanding = nil
      finish(.success(.receipt(receipt)))
    case .notExecuted where receipt.verdict == .notExecuted: retry()
    case .notExecuted: refused(receipt)
    case .unknown:
      mayRestart = false
      fail(LinkError(.linkLost))
    }
  }

  /// The command of an earlier call is settled.
  private mutating func settled(_ outcome: Outcome) {
    earlier = nil
    if case .settle = request.task {
      finish(.success(.settled(outcome)))
      return
    }
    switch outcome {
    case .notExecuted: proceed()
    case .accepted, .unknown: finish(.failure(.earlierCommand(outcome)))
    }
  }

  /// The hardware refused the command, with a receipt. If the app may be measured wrongly and attempts
  /// are left to spare, it is measured again, once.
  private mutating func refused(_ receipt: Receipt) {
    let command = outstanding
    outstanding = nil
    if let command, !isRemeasured, receipt.attemptsLeft ?? 0 > 1 {
      isRemeasured = true
      ask(.remeasure(command), in: .remeasuring(receipt))
    } else {
      finish(.failure(.refused(receipt.verdict, isAuthenticated: true)))
    }
  }

  mutating func remeasured(_ result: Result<Bool, LinkError>) {
    guard case .remeasuring(let refusal) = phase else { return }
    switch result {
    case .success(true): proceed()
    case .success(false):
      finish(.failure(.refused(refusal.verdict, isAuthenticated: true)))
    case .failure(let error): finish(.failure(error))
    }
  }

  /// Gives a command up for a new one. No other code does.
  private mutating func retry() {
    outstanding = nil
    switch hint {
    case .busy?: return fail(.busy(seconds: 5))
    case .fault?, .tooNew?: return fail(.refused(hint ?? .fault, isAuthenticated: false))
    default: break
    }
    if commandCount > 1 {
      // Two commands never arrived: their handle may be wrong.
      doubtTable()
    } else {
      proceed()
    }
  }

  /// Handles an answer to a recall that is forgeable, or was made with another key.
  private mutating func doubt(_ answer: Answer) {
    switch answer.verdict {
    case .unknownInstance, .deviceDiffers:
      // The hardware lost the token, or holds an older one: present it, and use the answer.
      if !isDoubted {
        isDoubted = true
        isHeld = false
        present()
      } else {
        fail(.refused(answer.verdict, isAuthenticated: false))
      }
    default:
      refuse(answer)
    }
  }

  private mutating func refuse(_ answer: Answer) {
    switch answer.verdict {
    case .busy: fail(.busy(seconds: max(1, Int(answer.detail))))
    case .stale: break
    case .malformed:
      // A damaged recall is sent again.
      if case .recalling = phase { break }
      fail(.refused(.malformed, isAuthenticated: false))
    default: fail(.refused(answer.verdict, isAuthenticated: false))
    }
  }
}
