// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Lending command classes to other apps of the same hardware, without a network.
///
///     member                                owner
///     let name = try await door.memberName()
///                        ── name, as text, such as a QR code ──▶
///                                           let loan = try await door.lend(
///                                             CommandClasses(0), to: name, uses: 5, until: end)
///                        ◀── loan.text ──
///     try await door.deliver(loan)
///     try await door.send(command)
extension HardwareConnection {
  /// The name under which an owner lends to this app: the digest of its token at the hardware. Uses
  /// no link.
  ///
  /// The token must permit a class of commands. A renewed token has another name: what was delivered
  /// goes on, and what was not is lost.
  ///
  /// - Returns: The digest.
  public func memberName() -> TokenDigest {
    let (chosen, before) = newestPair()
    return (before ?? chosen).hardware.token.digest
  }

  /// Lends command classes to another app of the same hardware. Uses no link, and needs no network.
  ///
  /// The app measures itself as for a command. A changed app can make a delegation, and the hardware
  /// refuses it. The hardware charges this app's own uses with each command of the member. A later
  /// delegation to the same member replaces this one.
  ///
  /// - Parameters:
  ///   - classes: The classes, at least one. The backend decides which of them this app may lend.
  ///   - member: The other app's ``memberName()`` at this hardware.
  ///   - uses: The number of commands, 1 to ``/ProofModel/Delegation/Loan/usesMax``.
  ///   - end: The last second in which it counts. Hardware without a clock knows the time only as far
  ///     as signatures of the backend bring it.
  ///   - now: The present, from which the delegation's number is made.
  /// - Returns: The delegation. Give its ``/ProofModel/Delegation/text`` to the other app.
  /// - Throws: ``LinkError``; ``LinkError/Reason/tokenNotHeld`` if this app has a newer token than
  ///   the hardware.
  public func lend(
    _ classes: CommandClasses, to member: TokenDigest, uses: UInt16, until end: UnixTime,
    at now: UnixTime = .now
  ) throws(LinkError) -> Delegation {
    try delegate(at: now) { serial throws(ProofError) in
      try Delegation.Loan(of: classes, to: member, uses: uses, until: end, serial: serial)
    }
  }

  /// Takes back what this app lent to a member. Uses no link: any app can deliver the result.
  ///
  /// The loan ends when the hardware hears of it.
  ///
  /// - Parameters:
  ///   - member: The name that was lent to.
  ///   - now: The present, from which the delegation's number is made.
  /// - Returns: The delegation that ends all earlier ones to this member.
  /// - Throws: As ``lend(_:to:uses:until:at:)``.
  public func takeBack(
    from member: TokenDigest, at now: UnixTime = .now
  ) throws(LinkError) -> Delegation {
    try delegate(at: now) { serial throws(ProofError) in
      try Delegation.Loan(takingBackFrom: member, serial: serial)
    }
  }

  /// Brings a delegation to the hardware: one that lends to this app, one of its own, or another's.
  ///
  /// The same one again changes nothing.
  ///
  /// - Parameters:
  ///   - delegation: The delegation.
  ///   - deadline: The time limit of the call.
  /// - Returns: The hardware's receipt, with the number of uses that are left. Nil if the receipt is
  ///   for another app, or for an earlier token of an owner who takes back: anyone on the link could
  ///   have made such an answer.
  /// - Throws: ``LinkError``; ``LinkError/Reason/delegationRefused``, with the cause in
  ///   ``LinkError/code``, ``LinkError/Reason/delegationMissing`` if the hardware takes none.
  @discardableResult
  public func deliver(
    _ delegation: Delegation, within deadline: Duration = .seconds(30)
  ) async throws(LinkError) -> Receipt? {
    let outcome = try await perform(within: deadline) {
      .delegation(delegation, self.party(to: delegation))
    }
    guard case .delegated(let receipt) = outcome else {
      preconditionFailure("a delegation's exchange ends with its receipt")
    }
    return receipt
  }

  private func delegate(
    at now: UnixTime, _ loan: (UInt32) throws(ProofError) -> Delegation.Loan
  ) throws(LinkError) -> Delegation {
    try load()
    let (pair, prover) = newestPair().chosen
    // Its tag is made with the secrets of this token, and the hardware has those of another.
    guard memory.heldToken == pair.token.digest else { throw LinkError(.tokenNotHeld) }
    let (next, overflow) = memory.lastSerial.addingReportingOverflow(1)
    let serial = max(overflow ? .max : next, UInt32(clamping: now.seconds))
    let delegation: Delegation
    do throws(ProofError) {
      let lender = try Delegation.Lender(
        pair.instance, at: pair.id, generation: pair.generation, token: pair.token.digest)
      delegation = try prover.delegate(loan(serial), from: lender, form: pair.form)
    } catch { throw .notMeasured(error) }
    // Before it leaves the app: a lower number would be refused.
    var changed = memory
    changed.lastSerial = serial
    try store(changed)
    return delegation
  }

  /// This app's part in a delegation. A token that was renewed meanwhile is not presented:
  /// the hardware may hold the one that is named.
  private func party(to delegation: Delegation) -> LoanParty {
    let loan = delegation.loan
    if loan.takesBack {
      // The receipt is made with the token under which the owner took back, and can be read with its pair alone.
      let isReadable =
        delegation.owner == hardware.instance
        && (delegation.generation == hardware.generation
          || delegation.generation == before?.hardware.generation)
      return isReadable ? .reader : .courier
    }
    if loan.member == hardware.token.digest { return .member }
    return loan.member == before?.hardware.token.digest ? .reader : .courier
  }
}
