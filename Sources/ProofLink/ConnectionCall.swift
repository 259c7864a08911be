internal import ProofModel

/// A link of a connection: up, or on its way.
struct ConnectionLink {
  let number: Int
  /// Opens the link, then passes on its events.
  var task: Task<Void, Never>?
  var channel: (any LinkChannel)?
  /// Whether the hardware has sent anything on it, and so has taken it out of the queue.
  var isServed = false
  /// The link's MTU and attributes, once it is ready for messages.
  var ready: OpenLink?
}

/// A call of the app, and the mailbox for its events.
struct ConnectionCall {
  enum Event: Sendable {
    /// It is this call's turn.
    case turn
    case deadline
    /// A timer of this call's exchange.
    case timeout(Int)
    /// An event on the link of this number.
    case link(Int, LinkExchange.Event)
  }

  let number: Int
  let mailbox: AsyncStream<Event>.Continuation

  func tell(_ event: Event) { mailbox.yield(event) }
}

extension HardwareConnection {
  /// Waits for its turn, runs one exchange to its end, and stores the memory.
  ///
  /// - Parameters:
  ///   - deadline: The most time it may take, waiting included.
  ///   - command: The command to prove, if the task is a command.
  ///   - task: Makes the task; called when it is the call's turn.
  /// - Returns: The exchange's outcome.
  /// - Throws: ``LinkError``.
  func perform(
    within deadline: Duration, proving command: (Command, ProofKind)? = nil,
    _ task: () throws(LinkError) -> LinkTask
  ) async throws(LinkError) -> LinkOutcome {
    // Swift resumes a waiting call by its task's executor, even on an actor. This executor resumes
    // it without waiting for a thread of the shared pool.
    try await withTaskExecutorPreference(resuming) { () async throws(LinkError) in
      try await serve(within: deadline, proving: command, task)
    }
  }

  private func serve(
    within deadline: Duration, proving command: (Command, ProofKind)?,
    _ task: () throws(LinkError) -> LinkTask
  ) async throws(LinkError) -> LinkOutcome {
    let deadline = Self.bounded(deadline)
    let isOver = Self.isOver(clock, after: deadline)
    let (events, mailbox) = AsyncStream.makeStream(of: ConnectionCall.Event.self)
    let late = Task { [clock] in
      if (try? await clock.sleep(for: deadline)) != nil { mailbox.yield(.deadline) }
    }
    let call = ConnectionCall(number: callCount, mailbox: mailbox)
    callCount += 1
    calls.append(call)
    if calls.count == 1 { call.tell(.turn) }
    defer {
      late.cancel()
      leave(call)
    }
    var iterator = events.makeAsyncIterator()
    waiting: while true {
      switch await iterator.next(isolation: self) {
      case .turn where !Task.isCancelled: break waiting
      case .deadline: throw .deadlinePassed(commandMayBeDone: false)
      case .timeout, .link: continue
      case .turn, nil: throw .cancelled(commandMayBeDone: false)
      }
    }
    var exchange = LinkExchange(try request(task(), proving: command, until: isOver))
    let opened = openedCount
    var result = await play(&exchange, hearing: &iterator, telling: mailbox)
    // Twelve links were tried and none was ever open.
    if result == .failure(.linkLost(commandMayBeDone: false)), openedCount == opened,
      let obstacle, obstacle.isAddressWrong
    {
      result = .failure(.nothingThere(reason: obstacle.reason))
    }
    // Given up while a command was proved, it ended without an event.
    switch result {
    case .failure(.cancelled), .failure(.deadlinePassed): hangUp()
    default: break
    }
    keep(exchange)
    return try result.get()
  }

  /// Whether a deadline has passed, for code that cannot wait for an event.
  private static func isOver(
    _ clock: some Clock<Duration>, after deadline: Duration
  ) -> @Sendable () -> Bool {
    let end = clock.now.advanced(by: deadline)
    return { clock.now >= end }
  }

  private func leave(_ call: ConnectionCall) {
    let hadTurn = calls.first?.number == call.number
    calls.removeAll { $0.number == call.number }
    if hadTurn { calls.first?.tell(.turn) }
  }

  private func play(
    _ exchange: inout LinkExchange,
    hearing events: inout AsyncStream<ConnectionCall.Event>.AsyncIterator,
    telling mailbox: AsyncStream<ConnectionCall.Event>.Continuation
  ) async -> Result<LinkOutcome, LinkError> {
    var timer: (number: Int, task: Task<Void, Never>)?
    var attempt = 0
    // Events of links before this one are dropped.
    var current = link?.number
    defer { timer?.task.cancel() }
    var actions = exchange.start()
    while true {
      for action in actions {
        switch action {
        case .connect:
          let pause = Self.pause(before: attempt)
          // Restart the timeout after the back-off, so that it covers the connection attempt only.
          if pause > .zero, let number = timer?.number {
            timer?.task.cancel()
            timer = (number, wait(for: pause + currentPatience, timer: number, mailbox))
          }
          open(after: pause)
          attempt += 1
          current = linkCount
        case .disconnect: hangUp()
        case .send(let pdu): link?.channel?.send(pdu)
        case .setTimer(let number):
          timer?.task.cancel()
          timer = (number, wait(for: currentPatience, timer: number, mailbox))
        case .finish(let result):
          link?.ready = exchange.link
          return result
        }
      }
      let mayBeDone = exchange.openRecall != nil
      let event = await events.next(isolation: self)
      if Task.isCancelled {
        hangUp()
        return .failure(.cancelled(commandMayBeDone: mayBeDone))
      }
      switch event {
      case .timeout(let number): actions = exchange.handle(.timeout(number))
      case .link(let number, let event):
        actions = number == current ? exchange.handle(event) : []
      case .deadline:
        hangUp()
        return .failure(.deadlinePassed(commandMayBeDone: mayBeDone))
      case .turn: actions = []
      case nil: preconditionFailure("a call's events end with its task alone")
      }
    }
  }

  /// The timeout for the next PDU. Before a link's first PDU it is at least the transport's
  /// ``LinkTransport/admission``.
  private var currentPatience: Duration {
    link?.isServed == true ? options.patience : max(options.patience, transport.admission)
  }

  private func wait(
    for duration: Duration, timer number: Int,
    _ mailbox: AsyncStream<ConnectionCall.Event>.Continuation
  ) -> Task<Void, Never> {
    Task { [clock] in
      if (try? await clock.sleep(for: Self.bounded(duration))) != nil {
        mailbox.yield(.timeout(number))
      }
    }
  }

  /// Bounds a duration to a hundred years: Swift's clocks end the process for a deadline that they
  /// cannot represent.
  private static func bounded(_ duration: Duration) -> Duration {
    min(max(duration, .zero), .seconds(3_155_760_000))
  }

  /// The back-off before an attempt: none at first, then longer and longer, up to a second.
  private static func pause(before attempt: Int) -> Duration {
    attempt == 0 ? .zero : .milliseconds(min(1000, 50 << min(attempt - 1, 5)))
  }

  // MARK: Links

  private func open(after pause: Duration) {
    hangUp()
    linkCount += 1
    let number = linkCount
    link = ConnectionLink(number: number)
    link?.task = Task(executorPreference: LinkTaskQueue()) { [weak self, transport, clock] in
      if pause > .zero { try? await clock.sleep(for: pause) }
      guard await self?.link?.number == number else { return }
      let channel: any LinkChannel
      do throws(LinkUnavailable) { channel = try await transport.open() } catch {
        await self?.failed(error, number)
        return
      }
      guard await self?.opened(channel, number) == true else {
        channel.close()
        return
      }
      for await pdu in channel.received { await self?.received(pdu, number) }
      channel.close()
      await self?.ended(number)
    }
  }

  private func opened(_ channel: any LinkChannel, _ number: Int) -> Bool {
    guard link?.number == number else { return false }
    link?.channel = channel
    openedCount += 1
    obstacle = nil
    calls.first?.tell(.link(number, .connected))
    return true
  }

  private func failed(_ obstacle: LinkUnavailable, _ number: Int) {
    guard link?.number == number else { return }
    self.obstacle = obstacle
    ended(number)
  }

  private func received(_ pdu: [UInt8], _ number: Int) {
    guard link?.number == number else { return }
    link?.isServed = true
    calls.first?.tell(.link(number, .received(pdu)))
  }

  private func ended(_ number: Int) {
    guard link?.number == number else { return }
    link = nil
    calls.first?.tell(.link(number, .disconnected))
  }

  func hangUp() {
    link?.task?.cancel()
    link?.channel?.close()
    link = nil
  }

  // MARK: Memory

  private func request(
    _ task: LinkTask, proving command: (Command, ProofKind)?,
    until isOver: @escaping @Sendable () -> Bool
  ) -> LinkRequest {
    LinkRequest(
      task, token: token, isHeld: memory.heldToken == token.digest, mtu: options.mtu,
      table: memory.attributes, link: link?.ready,
      prove: { challenge throws(LinkError) in
        guard let (command, kind) = command else {
          preconditionFailure("only a command's exchange proves")
        }
        let proved = try self.prove(command, kind, answering: challenge)
        // Measuring takes time: do not send a command that was cancelled or timed out meanwhile.
        if Task.isCancelled { throw .cancelled(commandMayBeDone: false) }
        if isOver() { throw .deadlinePassed(commandMayBeDone: false) }
        return proved
      },
      tokenReceipt: { answer throws(ProofError) in
        try self.prover.receipt(
          of: answer, to: self.token, for: self.hardware, form: self.form)
      })
  }

  private func prove(
    _ command: Command, _ kind: ProofKind, answering challenge: Challenge
  ) throws(LinkError) -> ProvedCommand {
    guard
      let proved = try? prover.prove(
        command, kind, from: instance, to: hardware, answering: challenge, form: form)
    else { throw .measureAgain }
    // Store the open command before it is sent: the app can only ask about a command that it
    // stored.
    var changed = memory
    changed.openCommand = OpenCommand(nonce: proved.nonce, counter: proved.counter)
    try store(changed)
    return proved
  }

  /// Asks about the command that was left open, in this run of the app or in an earlier one.
  func openRecall() throws(LinkError) -> Recall? {
    guard let command = memory.openCommand else { return nil }
    guard let recall = try? prover.recall(of: command, from: instance, to: hardware, form: form)
    else { throw .measureAgain }
    return recall
  }

  func store(_ changed: LinkMemory) throws(LinkError) {
    guard changed != memory else { return }
    do { try remember(changed) } catch { throw .notRemembered(reason: "\(error)") }
    memory = changed
  }

  private func keep(_ exchange: borrowing LinkExchange) {
    var changed = memory
    changed.heldToken = exchange.isHeld ? token.digest : nil
    changed.attributes = exchange.table
    if exchange.asksAboutCommands {
      changed.openCommand = exchange.openRecall.map {
        OpenCommand(nonce: $0.nonce, counter: $0.counter)
      }
    }
    // If it cannot be stored, an earlier run's memory stays, which costs an unnecessary question.
    if (try? store(changed)) == nil { memory = changed }
  }
}
