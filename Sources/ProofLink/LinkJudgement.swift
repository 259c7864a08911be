internal import ProofModel

/// Handles the hardware's answers.
extension LinkExchange {
  mutating func answered(_ answer: Answer) {
    switch phase {
    case .presenting: presented(answer)
    case .commanding: judged(answer)
    case .recalling: recalled(answer)
    case .ordering: ordered(answer)
    case .down, .opening, .reading, .ended: break
    }
  }

  private mutating func presented(_ answer: Answer) {
    if let receipt = try? request.tokenReceipt(answer), receipt.verdict == .held {
      isHeld = true
      // Ask about an open command before anything else.
      if case .present = request.task, openRecall == nil {
        finish(.success(.receipt(receipt)))
      } else {
        proceed()
      }
      return
    }
    guard answer.isHint, answer.counter == 0 else { return }
    refuse(answer)
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
      refused(receipt.verdict)
    }
  }

  private mutating func recalled(_ answer: Answer) {
    guard let recall = openRecall, answer.counter == recall.counter else { return }
    guard let fate = try? recall.fate(of: answer) else {
      doubt(answer)
      return
    }
    if outstanding == nil {
      settled(fate)
      return
    }
    switch fate {
    case .accepted, .acceptedDeviceOnly:
      guard let receipt = try? outstanding?.receipt(of: answer) else {
        preconditionFailure("an acceptance reads alike as the command's answer and the recall's")
      }
      outstanding = nil
      finish(.success(.receipt(receipt)))
    case .notExecuted:
      retry()
    case .tooOldToTell:
      fail(.linkLost(commandMayBeDone: true))
    case .refused(let verdict):
      refused(verdict)
    }
  }

  /// The command of an earlier call is settled.
  private mutating func settled(_ fate: Fate) {
    earlier = nil
    if case .settle = request.task {
      finish(.success(.fate(fate)))
      return
    }
    switch fate {
    case .notExecuted, .refused: proceed()
    case .accepted, .acceptedDeviceOnly, .tooOldToTell: finish(.failure(.earlierCommand(fate)))
    }
  }

  private mutating func refused(_ verdict: Verdict) {
    outstanding = nil
    switch verdict {
    case .integrityDiffers, .deviceDiffers: finish(.failure(.measureAgain))
    default: finish(.failure(.askBackend(verdict)))
    }
  }

  /// Gives a command up for a new one. No other code does.
  private mutating func retry() {
    outstanding = nil
    switch hint {
    case .busy: return fail(.wait(seconds: 5))
    case .fault: return fail(.askBackend(.fault))
    case .tooNew: return fail(.hardwareTooOld)
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
        fail(.askBackend(answer.verdict))
      }
    default:
      refuse(answer)
    }
  }

  private mutating func refuse(_ answer: Answer) {
    switch answer.verdict {
    case .busy: fail(.wait(seconds: max(1, Int(answer.detail))))
    case .stale: break
    case .malformed:
      // A damaged recall is sent again.
      if case .recalling = phase { break }
      fail(.askBackend(.malformed))
    case .tooNew: fail(.hardwareTooOld)
    default: fail(.askBackend(answer.verdict))
    }
  }
}
