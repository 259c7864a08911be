// SPDX-License-Identifier: Apache-2.0

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
  /// The channel for the next command on it, and the time that it has left.
  var commands: (channel: CommandChannel, timeLeft: @Sendable () -> Duration)?
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

/// A challenge for a command in the clear, or for one that is to be sealed; or a channel, in which a
/// command needs none.
private enum AnyChallenge {
  case clear(Challenge)
  case sealed(SealedChallenge)
  case channel(CommandChannel)
}

extension HardwareConnection {
  /// Waits for its turn, runs one exchange to its end, and stores the memory.
  ///
  /// A link that is lost is opened again, and a busy peer is asked again, until the deadline.
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
    let timeLeft = Self.timeLeft(clock, of: deadline)
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
      case .deadline: throw LinkError(.timedOut)
      case .timeout, .link: continue
      case .turn, nil: throw LinkError(.cancelled)
      }
    }
    try load()
    try forgetReportedCopy()
    takeNewestPair()
    // Taken out, whatever becomes of this call: a channel serves one command.
    let waiting = link?.commands
    link?.commands = nil
    var exchange = LinkExchange(
      request(try task(), in: usable(waiting, proving: command?.1)))
    var actions = exchange.start()
    var result: Result<LinkOutcome, LinkError>
    while true {
      let opened = openedCount
      result = await play(&exchange, from: actions, hearing: &iterator, telling: mailbox) {
        challenge, policy, carries throws(LinkError) in
        guard let (command, kind) = command else {
          preconditionFailure("only a command's exchange proves")
        }
        let proved = try self.prove(
          command, kind, answering: challenge, told: policy, carries: carries)
        // Measuring takes time: do not send a command that was cancelled or timed out meanwhile.
        if Task.isCancelled { throw LinkError(.cancelled) }
        if timeLeft() <= .zero { throw LinkError(.timedOut) }
        return proved
      }
      guard case .failure(let error) = result, exchange.mayRestart else { break }
      if case .wait(let time) = error.whoCanMend, error.reason == .busy, time < timeLeft() {
        if let end = await rest(for: time, hearing: &iterator, telling: mailbox) {
          result = .failure(LinkError(end, commandMayBeDone: error.commandMayBeDone))
          break
        }
      } else if error.reason != .linkLost || openedCount == opened || timeLeft() <= .zero {
        // Another round is for a link that was up, and was lost.
        break
      }
      actions = exchange.restart()
    }
    if case .failure(let error) = result {
      // Given up while a command was proved, it ended without an event.
      if error.reason == .cancelled || error.reason == .timedOut { hangUp() }
      // Twelve links were tried, and the last could not be opened.
      if error.reason == .linkLost, let obstacle {
        result = .failure(
          LinkError(
            obstacle.isExhausted ? .resourcesExhausted : .unreachable,
            commandMayBeDone: error.commandMayBeDone, words: obstacle.reason))
      }
    }
    keep(exchange)
    if let channel = exchange.channel, link?.ready != nil {
      let timeLeft = exchange.isInChannel ? waiting?.timeLeft : nil
      link?.commands = (channel, timeLeft ?? Self.timeLeft(clock, of: Self.channelLife))
    }
    return try result.get()
  }

  /// The age at which a channel is given up: a while before the hardware ends it.
  private static var channelLife: Duration { .seconds(25) }

  /// The channel of the call before, if this call may use it or leaves it alone.
  private func usable(
    _ waiting: (channel: CommandChannel, timeLeft: @Sendable () -> Duration)?,
    proving kind: ProofKind?
  ) -> CommandChannel? {
    guard let waiting, options.sealsCommands, options.keepsChannel, waiting.timeLeft() > .zero,
      waiting.channel.token == hardware.token.digest, kind == nil || kind == waiting.channel.kind
    else { return nil }
    return waiting.channel
  }

  /// The time until a deadline, for code that cannot wait for an event.
  private static func timeLeft(
    _ clock: some Clock<Duration>, of deadline: Duration
  ) -> @Sendable () -> Duration {
    let end = clock.now.advanced(by: deadline)
    return { clock.now.duration(to: end) }
  }

  /// Waits for a busy peer.
  ///
  /// - Returns: The reason to end the call; nil if the time is over.
  private func rest(
    for time: Duration, hearing events: inout AsyncStream<ConnectionCall.Event>.AsyncIterator,
    telling mailbox: AsyncStream<ConnectionCall.Event>.Continuation
  ) async -> LinkError.Reason? {
    let timer = wait(for: time, timer: Self.restTimer, mailbox)
    defer { timer.cancel() }
    while true {
      let event = await events.next(isolation: self)
      if Task.isCancelled { return .cancelled }
      switch event {
      case .timeout(Self.restTimer): return nil
      case .deadline: return .timedOut
      case .timeout, .link, .turn: continue
      case nil: return .cancelled
      }
    }
  }

  /// The number of the timer of a rest; those of an exchange count from 1.
  private static var restTimer: Int { 0 }

  private func leave(_ call: ConnectionCall) {
    let hadTurn = calls.first?.number == call.number
    calls.removeAll { $0.number == call.number }
    if hadTurn { calls.first?.tell(.turn) }
  }

  private func play(
    _ exchange: inout LinkExchange, from first: [LinkExchange.Action],
    hearing events: inout AsyncStream<ConnectionCall.Event>.AsyncIterator,
    telling mailbox: AsyncStream<ConnectionCall.Event>.Continuation,
    proving prove: (AnyChallenge, RatchetPolicy??, Bool) throws(LinkError) -> ProvedCommand
  ) async -> Result<LinkOutcome, LinkError> {
    var timer: (number: Int, task: Task<Void, Never>)?
    var attempt = 0
    // Events of links before this one are dropped.
    var current = link?.number
    defer { timer?.task.cancel() }
    var actions = first
    while true {
      // An action that an event answers at once adds the actions that follow.
      var done = 0
      while done < actions.count {
        defer { done += 1 }
        switch actions[done] {
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
        case .prove(let challenge):
          actions += proved(for: .clear(challenge), in: &exchange, by: prove)
        case .proveSealed(let challenge):
          actions += proved(for: .sealed(challenge), in: &exchange, by: prove)
        case .sealNext(let channel):
          actions += proved(for: .channel(channel), in: &exchange, by: prove)
        case .check(let answer):
          actions += exchange.handle(.checked(check(answer)))
        case .checkDelegation(let answer, let delegation):
          actions += exchange.handle(.checked(check(answer, to: delegation)))
        case .remeasure(let command):
          let result = Result { () throws(LinkError) in try remeasure(command) }
          actions += exchange.handle(.remeasured(result))
        case .recallBefore:
          let result = Result { () throws(LinkError) in try recallBefore() }
          actions += exchange.handle(.recallBefore(result))
        case .finish(let result):
          link?.ready = exchange.link
          return result
        }
      }
      let mayBeDone = exchange.openRecall != nil
      let event = await events.next(isolation: self)
      if Task.isCancelled {
        hangUp()
        return .failure(LinkError(.cancelled, commandMayBeDone: mayBeDone))
      }
      switch event {
      case .timeout(let number): actions = exchange.handle(.timeout(number))
      case .link(let number, let event):
        actions = number == current ? exchange.handle(event) : []
      case .deadline:
        hangUp()
        return .failure(LinkError(.timedOut, commandMayBeDone: mayBeDone))
      case .turn: actions = []
      case nil: preconditionFailure("a call's events end with its task alone")
      }
    }
  }

  /// The actions that follow the proof of the exchange's command.
  private func proved(
    for challenge: AnyChallenge, in exchange: inout LinkExchange,
    by prove: (AnyChallenge, RatchetPolicy??, Bool) throws(LinkError) -> ProvedCommand
  ) -> [LinkExchange.Action] {
    let policy = exchange.ratchetPolicy
    let carries = exchange.isCandidate
    let result = Result { () throws(LinkError) in try prove(challenge, policy, carries) }
    return exchange.handle(.proved(result))
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

  private func request(_ task: LinkTask, in channel: CommandChannel?) -> LinkRequest {
    LinkRequest(
      task, token: hardware.token, isHeld: memory.heldToken == hardware.token.digest,
      mtu: options.mtu, table: memory.attributes, link: link?.ready, seals: options.sealsCommands,
      sealHandle: sealHandle, channel: channel)
  }

  private func prove(
    _ command: Command, _ kind: ProofKind, answering challenge: AnyChallenge,
    told policy: RatchetPolicy??, carries: Bool
  ) throws(LinkError) -> ProvedCommand {
    let ratchet = ratchet(told: policy, carries: carries)
    let proved = try measuring { () throws(ProofError) in
      switch challenge {
      case .clear(let challenge):
        try prover.prove(
          command, kind, from: hardware.instance, to: hardware.id, answering: challenge,
          form: hardware.form, stepping: ratchet)
      case .sealed(let challenge):
        try prover.prove(
          command, kind, from: hardware.instance, to: hardware.id, answering: challenge,
          of: hardware.token.digest, form: hardware.form, stepping: ratchet)
      case .channel(let channel): try ProvedCommand(command, in: channel)
      }
    }
    // Store the open command before it is sent: the app can only ask about a command that it
    // stored. The ratchets that may follow it are stored with it: otherwise a lost answer and a lost
    // process would leave this app out of step, as if it were a copy.
    var changed = memory
    changed.openCommand = OpenCommand(nonce: proved.nonce, counter: proved.counter)
    if let ratchet = proved.ratchet { changed.ratchet = ratchet }
    try store(changed)
    return proved
  }

  /// The ratchet for the next command. A new token begins a new one once the hardware told its policy,
  /// and a candidate carries the slot's on.
  private func ratchet(told policy: RatchetPolicy??, carries: Bool) -> Ratchet? {
    let token = hardware.token.digest
    let known = memory.ratchet
    let learnt: RatchetPolicy?
    if let policy { learnt = policy } else { learnt = known?.token == token ? known?.policy : nil }
    guard let policy = learnt else { return nil }
    if let known, known.token == token || carries {
      if known.token == token, known.policy == policy { return known }
      return Ratchet(
        policy, of: token, lastAccepted: known.lastAccepted,
        value: known.token == token ? nil : known.value, after: nil)
    }
    return Ratchet(policy, of: token, lastAccepted: known?.lastAccepted ?? 0)
  }

  private func check(_ answer: Answer) -> Result<Receipt?, LinkError> {
    do throws(ProofError) {
      return .success(
        try prover.receipt(
          of: answer, to: hardware.token, for: hardware.id, form: hardware.form))
    } catch {
      return error.isOfAnswer ? .success(nil) : .failure(.notMeasured(error))
    }
  }

  /// The receipt for a delegation, under this pair or the one before.
  private func check(
    _ answer: Answer, to delegation: Delegation
  ) -> Result<Receipt?, LinkError> {
    var pairs: [ConnectionKeeper.Pair] = [(hardware, prover)]
    if let before { pairs.append(before) }
    for (hardware, prover) in pairs {
      do throws(ProofError) {
        return .success(
          try prover.receipt(of: answer, to: delegation, for: hardware.id, form: hardware.form))
      } catch {
        if !error.isOfAnswer { return .failure(.notMeasured(error)) }
      }
    }
    return .success(nil)
  }

  private func remeasure(_ command: ProvedCommand) throws(LinkError) -> Bool {
    try measuring { () throws(ProofError) in
      try prover.hasChanged(since: command, at: hardware.id, form: hardware.form)
    }
  }

  /// Asks about the command that was left open, in this run of the app or in an earlier one.
  func openRecall() throws(LinkError) -> Recall? {
    guard let command = memory.openCommand else { return nil }
    return try measuring { () throws(ProofError) in
      try prover.recall(
        of: command, from: hardware.instance, to: hardware.id, form: hardware.form)
    }
  }

  /// Asks about it under the pair before this one, if there is one.
  private func recallBefore() throws(LinkError) -> Recall? {
    guard let before, let command = memory.openCommand else { return nil }
    return try measuring { () throws(ProofError) in
      try before.prover.recall(
        of: command, from: before.hardware.instance, to: before.hardware.id,
        form: before.hardware.form)
    }
  }

  /// Tells a failure to measure as that, and never as an answer of the hardware.
  private func measuring<Value>(
    _ body: () throws(ProofError) -> Value
  ) throws(LinkError) -> Value {
    do throws(ProofError) { return try body() } catch { throw .notMeasured(error) }
  }

  /// Loads the memory, unless it is loaded. A damaged one counts as none.
  func load() throws(LinkError) {
    guard !isLoaded else { return }
    let bytes: [UInt8]?
    do { bytes = try memoryStore.load() } catch { throw LinkError(.notStored, words: "\(error)") }
    memory = bytes.flatMap { try? LinkMemory($0) } ?? LinkMemory()
    isLoaded = true
    if memory.hasSeenCopy { noteCopy() }
  }

  func store(_ changed: LinkMemory) throws(LinkError) {
    guard changed != memory else { return }
    do {
      try memoryStore.save(changed.bytes)
    } catch {
      throw LinkError(.notStored, words: "\(error)")
    }
    let isNews = changed.hasSeenCopy && !memory.hasSeenCopy
    memory = changed
    if isNews { noteCopy() }
  }

  /// Moves the ratchet as the hardware has, and notes a copy.
  private func follow(_ exchange: borrowing LinkExchange, in changed: inout LinkMemory) {
    if exchange.hasSeenCopy { changed.hasSeenCopy = true }
    guard let ratchet = changed.ratchet else { return }
    if exchange.isHeld, exchange.acceptance != nil, ratchet.after == nil,
      ratchet.token != hardware.token.digest
    {
      // A command without a ratchet was accepted: this token has none.
      changed.ratchet = nil
      return
    }
    // This app sent no later command while that one was open: another copy of it did.
    if exchange.isForgotten, ratchet.after != nil, ratchet.token == hardware.token.digest {
      changed.hasSeenCopy = true
    }
    if let receipt = exchange.acceptance, memory.openCommand?.counter == receipt.counter {
      changed.ratchet = ratchet.following(receipt.verdict, counter: receipt.counter)
    } else if exchange.asksAboutCommands, exchange.openRecall == nil {
      changed.ratchet = ratchet.following(.notExecuted, counter: 0)
    }
  }

  private func keep(_ exchange: borrowing LinkExchange) {
    var changed = memory
    changed.heldToken = exchange.isHeld ? hardware.token.digest : nil
    changed.attributes = exchange.table
    sealHandle = exchange.sealHandle
    if exchange.asksAboutCommands {
      changed.openCommand = exchange.openRecall.map {
        OpenCommand(nonce: $0.nonce, counter: $0.counter)
      }
    }
    follow(exchange, in: &changed)
    if exchange.isHeld, exchange.acceptance != nil, before != nil { noteAccepted() }
    // If it cannot be stored, an earlier run's memory stays, which costs an unnecessary question.
    if (try? store(changed)) == nil { memory = changed }
  }
}
