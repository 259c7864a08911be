// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// One task's exchange with the hardware, over as many links as it takes. It never has a command
/// done twice.
///
/// It does no input or output, measures nothing and knows no clock: events go in, actions come out. One
/// rule keeps a command from being done twice, and stands in one place, `retry`. A command is proved again only
/// after an authenticated answer said that the one before was not executed and never will be. After
/// a lost verdict, a forgeable answer or a new link, it first asks the hardware for the outcome, by
/// a recall.
package struct LinkExchange: ~Copyable {
  /// An event that the caller reports.
  package enum Event: Sendable {
    case connected
    case disconnected
    case received([UInt8])
    /// The timer of this number went off.
    case timeout(Int)
    /// The command that ``Action/prove(_:)`` asked for, or why there is none.
    case proved(Result<ProvedCommand, LinkError>)
    /// The receipt that ``Action/check(_:)`` asked for; nil if the answer does not authenticate.
    case checked(Result<Receipt?, LinkError>)
    /// Whether the measurement changed, as ``Action/remeasure(_:)`` asked.
    case remeasured(Result<Bool, LinkError>)
    /// The question that ``Action/recallBefore`` asked for; nil if there is no earlier pair.
    case recallBefore(Result<Recall?, LinkError>)
  }

  /// An action for the caller to do, in the order given.
  package enum Action {
    case connect
    case disconnect
    case send([UInt8])
    /// Replaces the timer before it.
    case setTimer(Int)
    /// Proves the task's command for this challenge, and stores that it is open. An event answers.
    case prove(Challenge)
    /// The same for a command that is to be sealed.
    case proveSealed(SealedChallenge)
    /// Seals the task's command in this channel, and stores that it is open. An event answers.
    case sealNext(CommandChannel)
    /// Checks the hardware's answer to the token. An event answers.
    case check(Answer)
    /// The same of its answer to a delegation.
    case checkDelegation(Answer, Delegation)
    /// Reads everything again, and compares with what proved this command. An event answers.
    case remeasure(ProvedCommand)
    /// Asks about the open command under the pair before this one. An event answers.
    case recallBefore
    case finish(Result<LinkOutcome, LinkError>)
  }

  /// A value that is read, in as many pieces as it takes.
  enum Value {
    case challenge
    case sealedChallenge
    case status
    case reply

    var byteCount: Int {
      switch self {
      case .challenge: 8 + Challenge.byteCount
      case .sealedChallenge: SealedChallenge.byteCount
      case .status: 28
      case .reply: DeviceReply.byteCount
      }
    }

    /// Nil for one that is not in the table.
    var characteristic: AttributeTable.Characteristic? {
      switch self {
      case .challenge: .challenge
      case .sealedChallenge: nil
      case .status: .status
      case .reply: .reply
      }
    }
  }

  enum Phase {
    case down
    case opening
    case reading(Value, [UInt8])
    case presenting
    /// An answer to the token is being checked.
    case checking(Answer)
    case proving
    /// The app is measured again after this refusal.
    case remeasuring(Receipt)
    /// The question under the earlier pair is being made.
    case askingBefore
    case commanding
    case recalling
    case ordering
    /// Looks for the log's characteristic.
    case findingLog(ClosedRange<UInt16>)
    /// Looks for the characteristic of challenges for sealed commands.
    case findingSeal(ClosedRange<UInt16>)
    case askingForLog
    /// Looks for the characteristic of delegations.
    case findingLoans(ClosedRange<UInt16>)
    case delegating
    /// An answer to the delegation is being checked.
    case checkingLoan
    case ended
  }

  /// Links and commands that one exchange may cost before it gives up.
  package static let linkCountMax = 12
  package static let commandCountMax = 6
  /// Answers *malformed* to a recall with which it gives up.
  package static let unreadRecallCountMax = 3
  /// Links with which it gives up on which the token, or the delegation, had a receipt of another key, and no other
  /// answer.
  package static let unreadReceiptCountMax = 3

  let request: LinkRequest
  var phase = Phase.down
  private var opening: LinkOpening
  private var mtu: Int
  private var reassembler = Reassembler()
  private var timer = 0
  private var linkCount = 0
  package private(set) var commandCount = 0
  /// Links in a row that failed with the same table.
  private var failedLinkCount = 0
  /// The command of an earlier call, until an authenticated answer gives its outcome.
  var earlier: Recall?
  /// The command that this call sent, until an authenticated answer gives its outcome.
  var outstanding: ProvedCommand?
  /// The verdict of an answer without receipt.
  var hint: Verdict?
  /// The detail of that answer.
  var hintDetail: RefusalDetail?
  /// The message of this call that the hardware answered last, or has not answered yet.
  var reference: Reference?
  /// Whether the token was presented because a recall was not understood.
  var isDoubted = false
  /// Whether the app was measured again after a refusal, which happens once.
  var isRemeasured = false
  /// The policy of the slot, if the hardware told it in this exchange: the inner nil for a slot
  /// without a ratchet.
  package internal(set) var ratchetPolicy: RatchetPolicy??
  /// The receipt that settled a command as accepted.
  package internal(set) var acceptance: Receipt?
  /// Whether the hardware said that a later command of this instance was accepted than the one that
  /// was asked about.
  package internal(set) var isForgotten = false
  /// Whether the hardware told, with a receipt, that another copy of the app has sent commands.
  package internal(set) var hasSeenCopy = false
  /// Whether the token is a candidate on this link: an upcoming one that has not proved itself.
  var isCandidate = false
  /// The question about the open command under the earlier pair, once this pair's was not understood.
  var before: Recall?
  var isAskedBefore = false
  /// Answers *malformed* to a recall.
  var unreadRecallCount = 0
  /// Whether the token, or the delegation, was answered with a receipt of another key, since it was sent last.
  var hasUnreadReceipt = false
  private var unreadReceiptCount = 0
  /// Whether new links may help after a failure: false once the hardware can no longer tell what
  /// became of the command.
  package internal(set) var mayRestart = true
  /// The parts of the log that came in this exchange.
  var logParts: [HardwareLogPart] = []
  /// The handle at which the log is asked for.
  var logHandle: UInt16 = 0
  /// Timeouts since the last part.
  var logTimeoutCount = 0
  /// The handle at which challenges for sealed commands are read; 0 while it is unknown.
  package internal(set) var sealHandle: UInt16
  /// Timeouts of the search for it.
  var sealTimeoutCount = 0
  /// The channel on this link: at first that of the call before, at the end that for the next call.
  package internal(set) var channel: CommandChannel?
  /// Whether that channel is the one of the call before, further on or left alone.
  package private(set) var isInChannel = true
  /// The handle at which delegations are written.
  var loanHandle: UInt16 = 0
  /// Timeouts of the search for it.
  var loanTimeoutCount = 0
  /// Whether the token was presented because the hardware did not know the delegation's.
  var isLoanDoubted = false
  private var actions: [Action] = []

  /// Whether the hardware has said, with a receipt, that it holds the token.
  package internal(set) var isHeld: Bool
  /// The handles of the attributes, as far as they are known.
  package private(set) var table: AttributeTable?
  /// Whether a link is up and ready for messages.
  package private(set) var isReady = false
  /// PDUs sent and received so far.
  package private(set) var pduCount = 0

  package init(_ request: LinkRequest) {
    self.request = request
    isHeld = request.isHeld
    table = request.link?.table ?? request.table
    sealHandle = request.sealHandle
    channel = request.channel
    mtu = request.link?.mtu ?? LinkPDU.mtus.lowerBound
    opening = LinkOpening(mtu: request.mtu, table: table)
    switch request.task {
    case .command(let open): earlier = open
    case .settle(let open): earlier = open
    case .connect, .present, .status, .reply, .order, .log, .delegation: earlier = nil
    }
  }

  /// The link that is up.
  package var link: OpenLink? {
    guard isReady, let table else { return nil }
    return OpenLink(mtu: mtu, table: table)
  }

  /// The command whose outcome is not known.
  package var openRecall: Recall? { before ?? outstanding?.recall ?? earlier }

  /// Whether this task settles open commands; other tasks leave them alone.
  package var asksAboutCommands: Bool {
    switch request.task {
    case .command, .settle: true
    case .connect, .present, .status, .reply, .order, .log, .delegation: false
    }
  }

  /// The first actions.
  package mutating func start() -> [Action] {
    if request.link != nil {
      isReady = true
      linkCount = 1
      proceed()
    } else {
      reconnect()
    }
    return takeActions()
  }

  /// Begins again after a failure, with new links. What is open stays open.
  package mutating func restart() -> [Action] {
    (linkCount, commandCount, failedLinkCount) = (0, 0, 0)
    (hint, hintDetail) = (nil, nil)
    reconnect()
    return takeActions()
  }

  /// Takes one event.
  package mutating func handle(_ event: Event) -> [Action] {
    if case .ended = phase { return [] }
    switch event {
    case .connected: connected()
    case .disconnected:
      isReady = false
      if !endLog() { reconnect() }
    case .received(let pdu):
      pduCount += 1
      received(pdu)
    case .timeout(let number): if number == timer { timedOut() }
    case .proved(let result): proved(result)
    case .checked(let result): checked(result)
    case .remeasured(let result): remeasured(result)
    case .recallBefore(let result): askBefore(result)
    }
    return takeActions()
  }

  private mutating func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  // MARK: Links

  mutating func send(_ pdu: [UInt8]) {
    pduCount += 1
    actions.append(.send(pdu))
  }

  mutating func enter(_ next: Phase) {
    phase = next
    timer += 1
    actions.append(.setTimer(timer))
  }

  /// Has the caller compute something. A timer that runs goes on.
  mutating func ask(_ action: Action, in next: Phase) {
    phase = next
    actions.append(action)
  }

  mutating func finish(_ result: Result<LinkOutcome, LinkError>) {
    phase = .ended
    actions.append(
      .finish(
        result.mapError { error in
          var told = error
          told.reference = told.reference ?? reference
          return told
        }))
  }

  /// Ends the exchange and the link with an error, which says whether a command may be done.
  mutating func fail(_ error: LinkError) {
    isReady = false
    actions.append(.disconnect)
    var told = error
    told.commandMayBeDone = openRecall != nil
    finish(.failure(told))
  }

  mutating func hangUp() {
    actions.append(.disconnect)
    reconnect()
  }

  private mutating func reconnect() {
    isReady = false
    isCandidate = false
    channel = nil
    // The token may not have arrived: present it again, should the recall not be understood again.
    if case .presenting = phase, !hasUnreadReceipt { isDoubted = false }
    guard linkCount < Self.linkCountMax else {
      fail(LinkError(.linkLost))
      return
    }
    linkCount += 1
    // A table may be wrong in a place that ends the link before it shows, or the address may have
    // other hardware by now. So two failed links discard it. One does not: rediscovering after each
    // loss on a bad link would take more packets than the link carries.
    failedLinkCount += 1
    if failedLinkCount > 2 { forgetTable() }
    mtu = LinkPDU.mtus.lowerBound
    opening = LinkOpening(mtu: request.mtu, table: table)
    reassembler = Reassembler()
    enter(.down)
    actions.append(.connect)
  }

  private mutating func timedOut() {
    switch phase {
    case .commanding:
      // The verdict may be lost while the link is up.
      recall()
    case .presenting where misreadsReceipts(), .delegating where misreadsReceipts():
      // The hardware took the token or the delegation, and this device has another key than the measured one.
      fail(.refused(.deviceDiffers, isAuthenticated: false))
    case .presenting, .checking, .recalling, .ordering, .reading, .delegating, .checkingLoan:
      // The handle may also be wrong: changed since, or damaged at discovery. Writes there are ignored,
      // and reads have another length. Tables are stored for good, so discard a doubtful one.
      doubtTable()
    case .down, .opening:
      hangUp()
    case .findingLog, .askingForLog: logTimedOut()
    case .findingSeal(let range): sealTimedOut(in: range)
    case .findingLoans(let range): loansTimedOut(in: range)
    case .proving, .remeasuring, .askingBefore, .ended:
      break
    }
  }

  /// Counts a presentation that ended with a receipt of another key; true if there were enough.
  private mutating func misreadsReceipts() -> Bool {
    guard hasUnreadReceipt else { return false }
    unreadReceiptCount += 1
    return unreadReceiptCount == Self.unreadReceiptCountMax
  }

  private mutating func connected() {
    guard case .down = phase else { return }
    enter(.opening)
    take(opening.start())
  }

  private mutating func take(_ step: LinkOpening.Step) {
    switch step {
    case .send(let pdu):
      enter(.opening)
      send(pdu)
    case .wait: break
    case .ready:
      mtu = opening.mtu
      table = opening.table
      isReady = true
      proceed()
    case .failed: doubtTable()
    }
  }

  private mutating func forgetTable() {
    table = nil
    sealHandle = 0
    failedLinkCount = 0
  }

  /// Discovers the attributes again, on another link.
  mutating func doubtTable() {
    forgetTable()
    hangUp()
  }

  /// Chooses the first step on a link that is ready.
  mutating func proceed() {
    if openRecall != nil {
      recall()
      return
    }
    if case .command = request.task, let next = channel {
      // It serves this command, and never another one.
      channel = nil
      return command(.sealNext(next))
    }
    switch request.task {
    case .connect: finish(.success(.connected))
    case .settle: preconditionFailure("a settled command ends its exchange")
    case .present: present()
    case .command where !isHeld && !isCandidate: present()
    case .command: if request.seals { askForSealedChallenge() } else { read(.challenge) }
    case .status: read(.status)
    case .reply: read(.reply)
    case .order(let order):
      channel = nil
      enter(.ordering)
      tell(order.message, at: .order)
    case .log: findLog()
    case .delegation(_, .member) where !isHeld && !isCandidate: present()
    case .delegation: findLoans()
    }
  }

  // MARK: Sending

  mutating func read(_ value: Value) {
    enter(.reading(value, []))
    send(LinkPDU.read(handle(of: value)))
  }

  private func handle(of value: Value) -> UInt16 {
    if let characteristic = value.characteristic { handle(characteristic) } else { sealHandle }
  }

  private func handle(_ characteristic: AttributeTable.Characteristic) -> UInt16 {
    table?[characteristic] ?? 0
  }

  private mutating func tell(
    _ message: Message, at characteristic: AttributeTable.Characteristic
  ) {
    tell(message, at: handle(characteristic))
  }

  mutating func tell(_ message: Message, at handle: UInt16) {
    guard
      let packets = try? message.packets(of: mtu - LinkPDU.headByteCount)
    else { preconditionFailure("an MTU is 23 to 517, and every message is one of the table's") }
    for packet in packets { send(LinkPDU.command(handle, packet)) }
  }

  mutating func present() {
    hasUnreadReceipt = false
    channel = nil
    enter(.presenting)
    reference = HardwareReference.of(request.token)
    tell(request.token.message, at: .token)
  }

  mutating func recall() {
    guard let recall = openRecall else { return }
    channel = nil
    enter(.recalling)
    reference = HardwareReference.of(counter: recall.counter, at: request.token)
    tell(recall.message, at: .recall)
  }

  private mutating func command(_ prove: Action) {
    guard commandCount < Self.commandCountMax else {
      fail(LinkError(.linkLost))
      return
    }
    if case .sealNext = prove { isInChannel = true } else { isInChannel = false }
    ask(prove, in: .proving)
    // The caller's deadline bounds a measurement. The timer of the read that is done does not.
    timer += 1
  }

  private mutating func proved(_ result: Result<ProvedCommand, LinkError>) {
    // A command that was proved for a link that has ended meanwhile is not sent.
    guard case .proving = phase else { return }
    switch result {
    case .success(let proved):
      commandCount += 1
      failedLinkCount = 0
      outstanding = proved
      (hint, hintDetail) = (nil, nil)
      reference = HardwareReference.of(counter: proved.counter, at: request.token)
      enter(.commanding)
      tell(proved.message, at: .command)
    case .failure(let error):
      finish(.failure(error))
    }
  }

  // MARK: Receiving

  private mutating func received(_ pdu: [UInt8]) {
    guard let opcode = pdu.first else { return }
    if let table, let packet = LinkPDU.notified(pdu, by: table[.verdict]) {
      guard case .complete(let message) = reassembler.receive(packet) else { return }
      if message.type == .log {
        logged(message)
      } else if message.type == .sealedAnswer {
        sealed(message)
      } else if let answer = try? Answer(message) {
        answered(answer)
      }
      return
    }
    switch phase {
    case .opening: take(opening.receive(pdu))
    case .reading(let value, let begun):
      if opcode == (begun.isEmpty ? LinkPDU.readResponse : LinkPDU.blobResponse) {
        readContinued(value, begun + pdu.dropFirst())
      } else if LinkPDU.refuses(
        begun.isEmpty ? LinkPDU.readRequest : LinkPDU.blobRequest, pdu)
      {
        if case .sealedChallenge = value { refusedSeal(pdu) } else { doubtTable() }
      }
    case .findingLog(let range): foundLog(pdu, in: range)
    case .findingSeal(let range): foundSeal(pdu, in: range)
    case .findingLoans(let range): foundLoans(pdu, in: range)
    case .down, .presenting, .checking, .proving, .remeasuring, .askingBefore, .commanding,
      .recalling, .ordering, .askingForLog, .delegating, .checkingLoan, .ended:
      // A repetition of an earlier response, or nothing we asked for.
      break
    }
  }

  private mutating func readContinued(_ value: Value, _ bytes: [UInt8]) {
    guard bytes.count >= value.byteCount else {
      // A response that is shorter than a whole one was cut on its way.
      guard (bytes.count - 1) % (mtu - 1) == mtu - 2 else { return }
      enter(.reading(value, bytes))
      send(LinkPDU.read(handle(of: value), from: bytes.count))
      return
    }
    guard bytes.count == value.byteCount else { return }
    switch value {
    case .challenge:
      guard let message = try? Message(.challenge, bytes),
        let challenge = try? Challenge(message)
      else { return }
      command(.prove(challenge))
    case .sealedChallenge:
      guard let message = try? Message(.challenge, bytes),
        let challenge = try? SealedChallenge(message)
      else { return }
      command(.proveSealed(challenge))
    case .status:
      guard let message = try? Message(.status, bytes), let status = try? HardwareStatus(message)
      else { return }
      finish(.success(.status(status)))
    case .reply:
      finish(.success(.reply(bytes)))
    }
  }
}
