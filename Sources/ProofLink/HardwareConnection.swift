public import ProofModel

/// The app's way to one piece of hardware: it connects, presents the token if the hardware does not
/// hold it, proves and sends commands, and reads receipts.
///
///     let door = HardwareConnection(
///       to: hardware, as: instance, presenting: token, proving: prover,
///       over: PipeTransport(.socket("lock.sock")))
///     let receipt = try await door.send(Command(Array("open".utf8), class: CommandClass(1)))
///
/// Each call connects if there is no link, and leaves the link open for the next; calls made at the
/// same time are served one after the other. A link that is lost is opened again, and what was asked
/// for is resumed there.
///
/// **A command is never done twice.** Whatever happened to a command, it is proved again only after
/// the hardware has said, with a receipt, that it was not executed and never will be.
///
/// Every call can be cancelled and has a deadline. Either ends the link at once; a command that was
/// on its way then stays ``LinkMemory/openCommand``, and the next ``send(_:proving:within:)`` asks
/// first what became of it.
public actor HardwareConnection {
  /// How a connection is made.
  public struct Options: Sendable, Hashable {
    /// The largest packet to ask the hardware for, 23 to 517 bytes.
    public var mtu: Int
    /// How long to wait for a link, or for an answer, before trying anew.
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
  ///   - hardware: Who is asked.
  ///   - instance: Who asks.
  ///   - token: The token for this hardware.
  ///   - form: The token's form.
  ///   - prover: Who measures the app.
  ///   - transport: What carries the PDUs.
  ///   - options: How.
  ///   - memory: What an earlier run of the app remembered.
  ///   - clock: What deadlines and patience are measured with.
  ///   - remember: Told whenever the memory has changed; before a command leaves, too. Durable when
  ///     it returns, a command stays done at most once even if the app ends in the midst of it. If
  ///     it throws, the command is not sent.
  public init(
    to hardware: HardwareID, as instance: InstanceID, presenting token: MeasurementToken,
    form: TokenForm = .diversified, proving prover: any CommandProver,
    over transport: any LinkTransport, options: Options = Options(),
    memory: LinkMemory = LinkMemory(), clock: any Clock<Duration> = ContinuousClock(),
    remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
  ) {
    self.memory = memory
  }

  /// What is remembered of the hardware.
  public private(set) var memory: LinkMemory

  /// Opens the link, if there is none.
  ///
  /// - Parameter deadline: How long it may take.
  /// - Throws: ``LinkError``.
  public func connect(within deadline: Duration = .seconds(30)) async throws(LinkError) { preconditionFailure("not built yet") }

  /// Presents the token, whether or not the hardware is known to hold it.
  ///
  /// ``send(_:proving:within:)`` does so where it is needed.
  ///
  /// - Parameter deadline: How long it may take.
  /// - Returns: The hardware's word that it holds the token, with the number of uses.
  /// - Throws: ``LinkError``.
  @discardableResult
  public func present(within deadline: Duration = .seconds(30)) async throws(LinkError) -> Receipt { preconditionFailure("not built yet") }

  /// Has a command done, at most once.
  ///
  /// If an earlier command is open, the hardware is asked about it first. If it was not done, it
  /// never will be, and this one goes; if it was, or nobody can tell, this one is not sent:
  /// ``LinkError/earlierCommand(_:)``. The app decides, and calls again if it still wants to.
  ///
  /// - Parameters:
  ///   - command: What is asked for.
  ///   - kind: What to prove.
  ///   - deadline: How long it may take.
  /// - Returns: The hardware's word that the command was accepted.
  /// - Throws: ``LinkError``.
  public func send(
    _ command: Command, proving kind: ProofKind = .integrity,
    within deadline: Duration = .seconds(30)
  ) async throws(LinkError) -> Receipt { preconditionFailure("not built yet") }

  /// Asks what became of the command that was left open, and closes the matter.
  ///
  /// - Parameter deadline: How long it may take.
  /// - Returns: What became of it; nil if none is open.
  /// - Throws: ``LinkError``.
  public func recall(within deadline: Duration = .seconds(30)) async throws(LinkError) -> Fate? { preconditionFailure("not built yet") }

  /// Reads what the hardware tells everyone. Nobody vouches for it.
  ///
  /// - Parameter deadline: How long it may take.
  /// - Throws: ``LinkError``.
  public func status(within deadline: Duration = .seconds(30)) async throws(LinkError)
    -> HardwareStatus { preconditionFailure("not built yet") }

  /// Reads what the device did with the last command that was accepted on this link. Nobody vouches
  /// for it; the receipt says that the command was accepted.
  ///
  /// - Parameter deadline: How long it may take.
  /// - Returns: The reply; nil if no command was accepted on this link.
  /// - Throws: ``LinkError``.
  public func reply(within deadline: Duration = .seconds(30)) async throws(LinkError)
    -> DeviceReply? { preconditionFailure("not built yet") }

  /// Carries an order of the backend to the hardware: an epoch, a revocation, a floor.
  ///
  /// Orders only move the hardware forward, so that one may be delivered as often as it takes. The
  /// hardware's word that it is done has no receipt: a backend that must know reads the status.
  ///
  /// - Parameters:
  ///   - order: What the backend signed.
  ///   - deadline: How long it may take.
  /// - Throws: ``LinkError``; ``LinkError/askBackend(_:)`` with what the hardware has against it.
  public func deliver(
    _ order: SignedOrder, within deadline: Duration = .seconds(30)
  ) async throws(LinkError) { preconditionFailure("not built yet") }

  /// Ends the link, if there is one. The next call opens another.
  public func disconnect() { preconditionFailure("not built yet") }
}
