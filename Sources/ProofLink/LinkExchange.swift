package import ProofModel

/// One command's way to the hardware and back, over as many links as it takes; never done twice.
///
/// It does no input or output and knows no clock: events go in, actions come out. The rule that
/// keeps a command from being done twice stands in one place, `retry`: a command is proved again
/// only after an authenticated answer said that the one before was not executed and never will be.
/// Whatever else happens, a lost verdict, an answer that anyone could have made, another link, the
/// hardware is first asked, by a recall, what became of it.
package struct LinkExchange: ~Copyable {
  /// What happened.
  package enum Event {
    case connected
    case disconnected
    case received([UInt8])
    /// The timer of this number went off.
    case timeout(Int)
  }

  /// What is to be done, in this order.
  package enum Action {
    case connect
    case disconnect
    case send([UInt8])
    /// Replaces the timer before it.
    case setTimer(Int)
    case finish(Result<Receipt, LinkError>)
  }

  /// What the app brings.
  package struct Request {
    package let token: MeasurementToken
    /// Whether the hardware is known to hold the token.
    package let isHeld: Bool
    package let mtu: Int
    package let prove: (Challenge) throws(ProofError) -> ProvedCommand
    package let tokenReceipt: (Answer) throws(ProofError) -> Receipt

    package init(
      token: MeasurementToken, isHeld: Bool, mtu: Int = 185,
      prove: @escaping (Challenge) throws(ProofError) -> ProvedCommand,
      tokenReceipt: @escaping (Answer) throws(ProofError) -> Receipt
    ) {
      self.token = token
      self.isHeld = isHeld
      self.mtu = mtu
      self.prove = prove
      self.tokenReceipt = tokenReceipt
    }
  }

  private enum Phase: Equatable {
    case down
    case exchanging
    case subscribing
    case reading([UInt8])
    case presenting
    case commanding
    case recalling
    case ended
  }

  /// Links and commands that one exchange may cost before it gives up.
  package static let linkCountMax = 12
  package static let commandCountMax = 6

  private let request: Request
  private var phase = Phase.down
  private var mtu = LinkPDU.mtus.lowerBound
  private var reassembler = Reassembler()
  private var timer = 0
  private var linkCount = 0
  private var commandCount = 0
  /// Sent, and nobody authenticated has said yet what became of it.
  private var outstanding: ProvedCommand?
  /// What an answer without receipt said of it.
  private var hint: Verdict?
  private var actions: [Action] = []

  /// Whether the hardware has said, with a receipt, that it holds the token.
  package private(set) var isHeld: Bool
  /// PDUs sent and received so far.
  package private(set) var pduCount = 0

  package init(_ request: Request) {
    self.request = request
    isHeld = request.isHeld
  }

  /// The first actions.
  package mutating func start() -> [Action] {
    reconnect()
    return takeActions()
  }

  /// Takes one event.
  package mutating func handle(_ event: Event) -> [Action] {
    guard phase != .ended else { return [] }
    switch event {
    case .connected: connected()
    case .disconnected: reconnect()
    case .received(let pdu):
      pduCount += 1
      received(pdu)
    case .timeout(let number): if number == timer { timedOut() }
    }
    return takeActions()
  }

  private mutating func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  // MARK: Links

  private mutating func send(_ pdu: [UInt8]) {
    pduCount += 1
    actions.append(.send(pdu))
  }

  private mutating func enter(_ next: Phase) {
    phase = next
    timer += 1
    actions.append(.setTimer(timer))
  }

  private mutating func finish(_ result: Result<Receipt, LinkError>) {
    phase = .ended
    actions.append(.disconnect)
    actions.append(.finish(result))
  }

  /// Gives up with an error; one that forgets a command that may be done says so instead.
  private mutating func fail(_ error: LinkError) {
    finish(.failure(outstanding == nil ? error : .linkLost(commandMayBeDone: true)))
  }

  private mutating func reconnect() {
    guard linkCount < Self.linkCountMax else {
      fail(.linkLost(commandMayBeDone: false))
      return
    }
    linkCount += 1
    mtu = LinkPDU.mtus.lowerBound
    reassembler = Reassembler()
    enter(.down)
    actions.append(.connect)
  }

  private mutating func timedOut() {
    if phase == .commanding {
      // The verdict may be lost while the link is up.
      recall()
    } else {
      actions.append(.disconnect)
      reconnect()
    }
  }

  private mutating func connected() {
    guard phase == .down else { return }
    if request.mtu > mtu {
      enter(.exchanging)
      send(LinkPDU.exchange(mtu: request.mtu))
    } else {
      subscribe()
    }
  }

  private mutating func subscribe() {
    enter(.subscribing)
    send(LinkPDU.subscribe(.verdictDescriptor))
  }

  // MARK: What comes

  private mutating func received(_ pdu: [UInt8]) {
    guard let opcode = pdu.first else { return }
    if let packet = LinkPDU.notified(pdu, by: .verdict) {
      if case .complete(let message) = reassembler.receive(packet),
        let answer = try? Answer(message)
      {
        answered(answer)
      }
      return
    }
    switch (phase, opcode) {
    case (.exchanging, LinkPDU.mtuResponse) where pdu.count == 3:
      let theirs = Int(pdu[1]) | Int(pdu[2]) << 8
      mtu = max(LinkPDU.mtus.lowerBound, min(request.mtu, theirs))
      subscribe()
    case (.subscribing, LinkPDU.writeResponse):
      proceed()
    case (.reading(let value), LinkPDU.readResponse) where value.isEmpty:
      challengeContinued(Array(pdu.dropFirst()))
    case (.reading(let value), LinkPDU.blobResponse) where !value.isEmpty:
      challengeContinued(value + pdu.dropFirst())
    case (.exchanging, LinkPDU.error), (.subscribing, LinkPDU.error), (.reading, LinkPDU.error):
      actions.append(.disconnect)
      reconnect()
    default:
      // A repetition of an earlier response, or nothing we asked for.
      break
    }
  }

  /// The link is ready: what comes first?
  private mutating func proceed() {
    if outstanding != nil {
      recall()
    } else if !isHeld {
      present()
    } else {
      enter(.reading([]))
      send(LinkPDU.read(.challenge))
    }
  }

  private mutating func challengeContinued(_ value: [UInt8]) {
    let wanted = MessageType.challengeByteCount
    guard value.count >= wanted else {
      // A response that is shorter than a whole one was cut on its way.
      guard (value.count - 1) % (mtu - 1) == mtu - 2 else { return }
      enter(.reading(value))
      send(LinkPDU.read(.challenge, from: value.count))
      return
    }
    guard value.count == wanted, let message = try? Message(.challenge, value),
      let challenge = try? Challenge(message)
    else { return }
    command(challenge)
  }

  private mutating func tell(_ message: Message, at handle: LinkHandle) {
    guard
      let packets = try? message.packets(of: mtu - LinkPDU.headByteCount)
    else { preconditionFailure("an MTU is 23 to 517, and every message is one of the table's") }
    for packet in packets { send(LinkPDU.command(handle, packet)) }
  }

  private mutating func command(_ challenge: Challenge) {
    guard commandCount < Self.commandCountMax else {
      fail(.linkLost(commandMayBeDone: false))
      return
    }
    guard let proved = try? request.prove(challenge) else {
      fail(.measureAgain)
      return
    }
    commandCount += 1
    outstanding = proved
    hint = nil
    enter(.commanding)
    tell(proved.message, at: .command)
  }

  private mutating func present() {
    enter(.presenting)
    tell(request.token.message, at: .token)
  }

  private mutating func recall() {
    guard let outstanding else { return }
    enter(.recalling)
    tell(outstanding.recall.message, at: .recall)
  }

  // MARK: Answers

  private mutating func answered(_ answer: Answer) {
    switch phase {
    case .presenting: presented(answer)
    case .commanding, .recalling: judged(answer)
    default: break
    }
  }

  private mutating func presented(_ answer: Answer) {
    if let receipt = try? request.tokenReceipt(answer), receipt.verdict == .held {
      isHeld = true
      proceed()
      return
    }
    guard answer.isHint, answer.counter == 0 else { return }
    refuse(answer)
  }

  private mutating func judged(_ answer: Answer) {
    guard let outstanding, answer.counter == outstanding.counter else { return }
    if phase == .recalling {
      recalled(outstanding, answer)
      return
    }
    guard let receipt = try? outstanding.receipt(of: answer) else {
      doubt(answer)
      return
    }
    switch receipt.verdict {
    case .accepted, .acceptedDeviceOnly:
      finish(.success(receipt))
    case .stale:
      // A copy of the command can have come before this one, and its receipt be lost.
      recall()
    default:
      refused(receipt.verdict)
    }
  }

  private mutating func recalled(_ outstanding: ProvedCommand, _ answer: Answer) {
    guard let fate = try? outstanding.recall.fate(of: answer) else {
      doubt(answer)
      return
    }
    switch fate {
    case .accepted, .acceptedDeviceOnly:
      guard let receipt = try? outstanding.receipt(of: answer) else {
        preconditionFailure("an acceptance reads alike as the command's answer and the recall's")
      }
      finish(.success(receipt))
    case .notExecuted:
      retry()
    case .tooOldToTell:
      fail(.linkLost(commandMayBeDone: true))
    case .refused(let verdict):
      refused(verdict)
    }
  }

  private mutating func refused(_ verdict: Verdict) {
    outstanding = nil
    switch verdict {
    case .integrityDiffers, .deviceDiffers: fail(.measureAgain)
    default: fail(.askBackend(verdict))
    }
  }

  /// The one place where a command is given up for a new one.
  private mutating func retry() {
    outstanding = nil
    if let hint, hint == .busy || hint == .fault {
      fail(hint == .busy ? .wait(seconds: 5) : .askBackend(hint))
    } else {
      proceed()
    }
  }

  /// An answer that anyone could have made, or that was made with another key.
  private mutating func doubt(_ answer: Answer) {
    if phase == .commanding {
      hint = answer.verdict
      recall()
      return
    }
    switch answer.verdict {
    case .unknownInstance, .deviceDiffers:
      // The hardware lost the token, or holds an older one: what it holds then will tell.
      if isHeld {
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
    case .malformed, .stale: break
    default: fail(.askBackend(answer.verdict))
    }
  }
}

extension MessageType {
  /// CHALLENGE: counter and random bytes.
  fileprivate static var challengeByteCount: Int { 8 + Challenge.byteCount }
}
