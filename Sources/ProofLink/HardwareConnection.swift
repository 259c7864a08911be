public import ProofModel

/// The app's way to one piece of hardware: it connects, presents the token if the hardware does not
/// hold it, proves and sends commands, and reads receipts.
///
/// Each call connects if there is no link, and leaves the link open for the next. Concurrent calls
/// are served one after the other. A lost link is opened again, and the call resumes there.
///
/// **A command is never done twice.** It is proved again only after the hardware has said, with a
/// receipt, that it was not executed and never will be.
///
/// Every call can be cancelled and has a deadline. Either ends the link at once. A command that was
/// on its way then stays ``LinkMemory/openCommand``, and the next ``send(_:proving:within:)`` asks
/// for its outcome first.
public actor HardwareConnection {
  /// The options of a connection.
  public struct Options: Sendable, Hashable {
    /// The largest packet to ask the hardware for, 23 to 517 bytes.
    public var mtu: Int
    /// The timeout for a link or an answer, after which the connection tries again. A link's first
    /// answer may take as long as the transport's ``LinkTransport/admission`` says.
    public var patience: Duration

    /// Describes a connection.
    public init(mtu: Int = 185, patience: Duration = .seconds(3)) {
      self.mtu = mtu
      self.patience = patience
    }
  }

  /// Describes the way to one piece of hardware. Nothing is sent yet.
  ///
  /// - Parameters:
  ///   - hardware: The hardware that is asked.
  ///   - instance: The app instance that asks.
  ///   - token: The token for this hardware.
  ///   - form: The token's form.
  ///   - prover: Measures the app.
  ///   - transport: Carries the PDUs.
  ///   - options: The MTU, and the connection's timing.
  ///   - memory: The memory that an earlier run of the app stored.
  ///   - clock: Measures deadlines and back-off.
  ///   - remember: Stores the memory whenever it has changed, also before a command leaves. If the
  ///     memory is durable when this returns, a command is done at most once even if the app ends
  ///     during it. If it throws, the command is not sent.
  public init(
    to hardware: HardwareID, as instance: InstanceID, presenting token: MeasurementToken,
    form: TokenForm = .diversified, proving prover: any CommandProver,
    over transport: any LinkTransport, options: Options = Options(),
    memory: LinkMemory = LinkMemory(), clock: any Clock<Duration> = ContinuousClock(),
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
  ) {
    self.hardware = hardware
    self.instance = instance
    self.token = token
    self.form = form
    self.prover = prover
    self.transport = transport
    self.options = options
    self.memory = memory
    self.clock = clock
    self.remember = remember
  }

  deinit {
    link?.task?.cancel()
    link?.channel?.close()
  }

  /// The queue on which the actor runs, and on which it measures: not a thread of the shared pool.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe queue.asUnownedSerialExecutor()
  }

  /// The connection's memory of the hardware.
  public internal(set) var memory: LinkMemory

  /// The reason why the latest attempt to open a link failed: a path that does not exist, a radio
  /// that is off.
  /// Nil once a link is up.
  ///
  /// Use it in a log, and to find the reason of ``LinkError/linkLost(commandMayBeDone:)``.
  public internal(set) var obstacle: LinkUnavailable?

  let hardware: HardwareID
  let instance: InstanceID
  let token: MeasurementToken
  let form: TokenForm
  let prover: any CommandProver
  let transport: any LinkTransport
  let options: Options
  let clock: any Clock<Duration>
  let remember: @Sendable (LinkMemory) throws -> Void
  private nonisolated let queue = LinkQueue()
  /// The queue that resumes waiting calls, before they continue on the actor's queue.
  let resuming = LinkTaskQueue()

  /// The link that is up, or on its way.
  var link: ConnectionLink?
  var linkCount = 0
  /// The number of links that were opened, over all calls.
  var openedCount = 0
  /// Calls that wait for their turn; the first has it.
  var calls: [ConnectionCall] = []
  var callCount = 0

  /// Opens the link, if there is none.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Throws: ``LinkError``.
  public func connect(within deadline: Duration = .seconds(30)) async throws(LinkError) {
    _ = try await perform(within: deadline) { .connect }
  }

  /// Presents the token, whether or not the hardware is known to hold it.
  ///
  /// ``send(_:proving:within:)`` presents it where that is needed.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Returns: The hardware's receipt for the token, with the number of uses.
  /// - Throws: ``LinkError``.
  @discardableResult
  public func present(within deadline: Duration = .seconds(30)) async throws(LinkError) -> Receipt {
    guard case .receipt(let receipt) = try await perform(within: deadline, { .present }) else {
      preconditionFailure("a token's exchange ends with a receipt")
    }
    return receipt
  }

  /// Has a command done, at most once.
  ///
  /// If an earlier command is open, the hardware is asked about it first. If that command was not
  /// done, it never will be, and this one is sent. If it was done, or the hardware can no longer
  /// tell, this one is not sent and the call throws ``LinkError/earlierCommand(_:)``. The app
  /// decides, and calls again if it still wants to.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - deadline: The time limit of the call.
  /// - Returns: The hardware's receipt for the command.
  /// - Throws: ``LinkError``.
  public func send(
    _ command: Command, proving kind: ProofKind = .integrity,
    within deadline: Duration = .seconds(30)
  ) async throws(LinkError) -> Receipt {
    let outcome = try await perform(within: deadline, proving: (command, kind)) {
      () throws(LinkError) in
      .command(after: try self.openRecall())
    }
    guard case .receipt(let receipt) = outcome else {
      preconditionFailure("a command's exchange ends with a receipt")
    }
    return receipt
  }

  /// Asks for the outcome of the command that was left open, and closes it.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Returns: The outcome; nil if no command is open.
  /// - Throws: ``LinkError``.
  public func recall(within deadline: Duration = .seconds(30)) async throws(LinkError) -> Fate? {
    let outcome = try await perform(within: deadline) {
      () throws(LinkError) in
      try self.openRecall().map { .settle($0) } ?? .connect
    }
    guard case .fate(let fate) = outcome else { return nil }
    return fate
  }

  /// Reads the status that the hardware tells everyone. The status is not authenticated.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Returns: The status.
  /// - Throws: ``LinkError``.
  public func status(within deadline: Duration = .seconds(30)) async throws(LinkError)
    -> HardwareStatus
  {
    guard case .status(let status) = try await perform(within: deadline, { .status }) else {
      preconditionFailure("reading the status ends with it")
    }
    return status
  }

  /// Reads the device's result for the last command that was accepted on this link. The result is
  /// not authenticated; the receipt is, and says that the command was accepted.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Returns: The reply; nil if no command was accepted on this link.
  /// - Throws: ``LinkError``.
  public func reply(within deadline: Duration = .seconds(30)) async throws(LinkError)
    -> DeviceReply?
  {
    guard case .reply(let bytes) = try await perform(within: deadline, { .reply }) else {
      preconditionFailure("reading the reply ends with it")
    }
    return DeviceReply(bytes)
  }

  /// Carries an order of the backend to the hardware: an epoch, a revocation, a floor.
  ///
  /// Orders only move the hardware forward, so that one may be delivered as often as it takes. The
  /// hardware's answer that it is done has no receipt; a backend that must know reads the status.
  ///
  /// - Parameters:
  ///   - order: The order that the backend signed.
  ///   - deadline: The time limit of the call.
  /// - Throws: ``LinkError``; ``LinkError/askBackend(_:)`` with the hardware's reason for a
  ///   refusal.
  public func deliver(
    _ order: SignedOrder, within deadline: Duration = .seconds(30)
  ) async throws(LinkError) {
    _ = try await perform(within: deadline) { .order(order) }
  }

  /// Ends the link, if there is one. The next call opens another.
  public func disconnect() {
    guard let number = link?.number else { return }
    hangUp()
    calls.first?.tell(.link(number, .disconnected))
  }

  /// Stops asking about the command that was left open, after a person has looked at the device.
  ///
  /// - Throws: ``LinkError/notRemembered(reason:)``.
  public func forgetOpenCommand() throws(LinkError) {
    var changed = memory
    changed.openCommand = nil
    try store(changed)
  }
}
