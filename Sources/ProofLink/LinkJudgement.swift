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
    case .askingForLog: refusedLog(answer)
    case .delegating: delegated(answer)
    case .down, .opening, .reading, .checking, .proving, .remeasuring, .askingBefore, .findingLog,
      .findingSeal, .findingLoans, .checkingLoan, .ended:
      break
    }
  }

  mutating func checked(_ result: Result<Receipt?, LinkError>) {
    if case .checkingLoan = phase { return checkedLoan(result) }
    guard case .checking(let answer) = phase else { return }
    switch result {
    case .failure(let error): fail(error)
    case .success(let receipt?) where receipt.verdict == .held || receipt.verdict == .ready:
      isHeld = receipt.verdict == .held
      isCandidate = !isHeld
      // Ask about an open command before anything else.
      if case .present = request.task, openRecall == nil {
        finish(.success(.receipt(receipt)))
      } else {
        proceed()
      }
    case .success:
      // Forged answers do not prolong the wait for the hardware's: its timer runs on.
      phase = .presenting
      hasUnreadReceipt = hasUnreadReceipt || !answer.isHint
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
      (hint, hintDetail) = (answer.verdict, answer.refusal)
      recall()
      return
    }
    take(receipt)
  }

  /// Takes the authenticated answer to the command.
  mutating func take(_ receipt: Receipt) {
    switch receipt.verdict {
    case .accepted, .acceptedDeviceOnly, .acceptedCopy, .acceptedDeviceOnlyCopy:
      self.outstanding = nil
      accepted(receipt)
      commit()
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
    if outcome == .unknown { isForgotten = true }
    if outstanding == nil {
      if outcome.isAccepted { accepted(receipt) }
      settled(outcome)
      return
    }
    switch outcome {
    case .accepted:
      outstanding = nil
      accepted(receipt)
      if before == nil { commit() }
      before = nil
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
    before = nil
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
    if receipt.verdict.tellsCopy { hasSeenCopy = true }
    if let policy = receipt.ratchetPolicy, ratchetPolicy == nil {
      // The command had the kind of the other sort of slot. Prove it again, once, with the right one.
      ratchetPolicy = .some(policy)
      proceed()
    } else if let command, !isRemeasured, receipt.attemptsLeft ?? 0 > 1 {
      isRemeasured = true
      ask(.remeasure(command), in: .remeasuring(receipt))
    } else {
      finish(.failure(.refused(receipt.verdict, receipt.refusal, isAuthenticated: true)))
    }
  }

  private mutating func accepted(_ receipt: Receipt) {
    acceptance = receipt
    if receipt.verdict.tellsCopy { hasSeenCopy = true }
  }

  mutating func remeasured(_ result: Result<Bool, LinkError>) {
    guard case .remeasuring(let refusal) = phase else { return }
    switch result {
    case .success(true): proceed()
    case .success(false):
      finish(.failure(.refused(refusal.verdict, refusal.refusal, isAuthenticated: true)))
    case .failure(let error): finish(.failure(error))
    }
  }

  /// The hardware accepted a command of this pair: it holds the token from here on.
  private mutating func commit() {
    guard isCandidate else { return }
    isCandidate = false
    isHeld = true
  }

  mutating func askBefore(_ result: Result<Recall?, LinkError>) {
    guard case .askingBefore = phase else { return }
    switch result {
    case .success(let recall?):
      before = recall
      self.recall()
    case .success(nil): fail(.refused(.deviceDiffers, isAuthenticated: false))
    case .failure(let error): finish(.failure(error))
    }
  }

  /// Gives a command up for a new one. No other code does.
  private mutating func retry() {
    outstanding = nil
    before = nil
    switch hint {
    case .busy?: return fail(.busy(seconds: 5))
    case .fault?, .tooNew?:
      return fail(.refused(hint ?? .fault, hintDetail, isAuthenticated: false))
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
      } else if isCandidate, !isAskedBefore {
        // The command did not commit this pair: only the earlier pair's key is understood, and ends it for good.
        isAskedBefore = true
        ask(.recallBefore, in: .askingBefore)
      } else {
        fail(.refused(answer.verdict, answer.refusal, isAuthenticated: false))
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
      // A damaged recall is sent again. Hardware whose flash was put back refuses each recall of a later command so:
      // its challenges have not come that far.
      if case .recalling = phase {
        unreadRecallCount += 1
        if unreadRecallCount < Self.unreadRecallCountMax { break }
      }
      fail(.refused(.malformed, isAuthenticated: false))
    default: fail(.refused(answer.verdict, answer.refusal, isAuthenticated: false))
    }
  }
}
