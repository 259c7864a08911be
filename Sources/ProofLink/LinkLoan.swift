// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Brings a delegation to the hardware. The same one again changes nothing there, so that it may be
/// sent as often as it takes.
extension LinkExchange {
  /// Timeouts in a row of the search before it discovers all attributes again.
  static let loanTimeoutCountMax = 3

  /// Looks for the delegations' characteristic, behind the others.
  mutating func findLoans() {
    guard let last = table?.values.values.max(), last < UInt16.max else { return missLoans() }
    loanTimeoutCount = 0
    findLoans(in: (last + 1)...UInt16.max)
  }

  private mutating func findLoans(in range: ClosedRange<UInt16>) {
    enter(.findingLoans(range))
    send(LinkPDU.attributes(LinkPDU.characteristic, in: range))
  }

  mutating func foundLoans(_ pdu: [UInt8], in range: ClosedRange<UInt16>) {
    switch LinkOpening.search(pdu, for: AttributeTable.delegationNumber, in: range) {
    case .nothing: break
    case .value(let handle):
      loanHandle = handle
      delegate()
    case .goOn(let rest): findLoans(in: rest)
    case .missing: missLoans()
    }
  }

  mutating func loansTimedOut(in range: ClosedRange<UInt16>) {
    loanTimeoutCount += 1
    if loanTimeoutCount < Self.loanTimeoutCountMax { findLoans(in: range) } else { doubtTable() }
  }

  private mutating func delegate() {
    guard case .delegation(let delegation, _) = request.task else { return }
    hasUnreadReceipt = false
    enter(.delegating)
    reference = HardwareReference.of(delegation, at: request.token)
    channel = nil
    tell(delegation.message, at: loanHandle)
  }

  mutating func delegated(_ answer: Answer) {
    guard case .delegation(let delegation, let party) = request.task else { return }
    if answer.isHint {
      if answer.counter == 0 { refuseLoan(answer, to: party) }
    } else if party != .courier {
      ask(.checkDelegation(answer, delegation), in: .checkingLoan)
    } else if answer.verdict == .orderDone {
      // The receipt is for the member or the owner.
      finish(.success(.delegated(nil)))
    }
  }

  mutating func checkedLoan(_ result: Result<Receipt?, LinkError>) {
    switch result {
    case .failure(let error): fail(error)
    case .success(let receipt?) where receipt.verdict == .orderDone:
      finish(.success(.delegated(receipt)))
    // Forged answers do not prolong the wait for the hardware's: its timer runs on.
    case .success:
      phase = .delegating
      hasUnreadReceipt = true
    }
  }

  private mutating func refuseLoan(_ answer: Answer, to party: LoanParty) {
    switch answer.verdict {
    case .busy: fail(.busy(seconds: max(1, Int(answer.detail))))
    // Hardware that takes no delegations does not know the message.
    case .malformed: missLoans()
    case .unknownInstance where party == .member && answer.refusal == .noMember && !isLoanDoubted:
      // The hardware lost the token: present it, then try again.
      isLoanDoubted = true
      isHeld = false
      isCandidate = false
      present()
    default: finish(.failure(.refusedDelegation(answer.verdict, answer.refusal)))
    }
  }

  private mutating func missLoans() { finish(.failure(LinkError(.delegationMissing))) }
}
