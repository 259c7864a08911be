// SPDX-License-Identifier: Apache-2.0

public import ProofKit
public import ProofModel

/// The attestor's side of a connection: it keeps the pairs of the hardware, and talks to the service.
package struct ConnectionKeeper: Sendable {
  /// A pair, and the measurement under it.
  package typealias Pair = (hardware: PairedHardware, prover: any CommandProver)

  /// The pair that the running app fits, and the present one if it is another; nil if there is none.
  package let fitting: @Sendable () -> (chosen: Pair, before: Pair?)?
  /// Deletes the older pairs of the hardware.
  package let accepted: @Sendable (PairedHardware) -> Void
  /// Has the next report tell that the hardware told of a copy.
  package let noteCopy: @Sendable () -> Void
  /// Whether the service knows of that copy.
  package let hasReportedCopy: @Sendable () -> Bool

  package init(
    fitting: @escaping @Sendable () -> (chosen: Pair, before: Pair?)?,
    accepted: @escaping @Sendable (PairedHardware) -> Void,
    noteCopy: @escaping @Sendable () -> Void, hasReportedCopy: @escaping @Sendable () -> Bool
  ) {
    self.fitting = fitting
    self.accepted = accepted
    self.noteCopy = noteCopy
    self.hasReportedCopy = hasReportedCopy
  }
}

/// Sends commands to one piece of paired hardware. Each is executed at most once.
///
/// Calls open a link where none is up, leave it open for the next, and are served one after the other.
/// A lost link is opened again within the deadline, and the hardware is asked about the command before
/// it is sent again. A busy peer is asked again after the time that it says. If the integrity check
/// fails, everything is read again; the command is sent once more only if this changed the measurement
/// and an attempt is left to spare.
///
/// **A command is never done twice.** It is proved again only after the hardware has said, with a
/// receipt, that it was not executed and never will be.
///
/// Every call can be cancelled and has a deadline. Either ends the link at once. A command that was
/// on its way then stays open (``hasOpenCommand()``), and the next ``send(_:proving:within:)`` asks for
/// its outcome first.
public actor HardwareConnection {
  /// The options of a connection.
  public struct Options: Sendable, Hashable {
    /// The largest packet to ask the hardware for, 23 to 517 bytes.
    public var mtu: Int
    /// The timeout for a link or an answer, after which the connection tries again. A link's first
    /// answer may take as long as the transport's ``LinkTransport/admission`` says.
    public var patience: Duration
    /// Whether commands are sealed: an eavesdropper then reads neither the command nor its answer, nor
    /// which app sent it. Such a connection never sends a command in the clear. It fails with
    /// ``LinkError/Reason/sealingMissing`` where the hardware answers no sealed commands.
    public var sealsCommands: Bool
    /// Whether a connection that seals keeps the channel that the hardware opens: further commands
    /// then cost one round trip, and are judged by the proof of the first, for 25 seconds at most. The
    /// hardware opens one only where the token permits it, so the issuer decides. Set it to false to
    /// have every command proved by a measurement of its own.
    public var keepsChannel: Bool

    /// Describes a connection.
    public init(
      mtu: Int = 185, patience: Duration = .seconds(3), sealsCommands: Bool = false,
      keepsChannel: Bool = true
    ) {
      self.mtu = mtu
      self.patience = patience
      self.sealsCommands = sealsCommands
      self.keepsChannel = keepsChannel
    }
  }

  /// Describes the way to one piece of hardware. Nothing is sent yet.
  ///
  /// - Parameters:
  ///   - hardware: The hardware, as ``/ProofKit/StoredPairs/hardware(_:)`` gives it. After a renewal,
  ///     make a connection to the newer pair. One that an attestor made takes it by itself.
  ///   - prover: Measures the app.
  ///   - transport: Carries the PDUs.
  ///   - store: Keeps what must outlive the app.
  ///   - clock: Measures deadlines and back-off.
  ///   - options: The MTU, and the connection's timing.
  public init(
    to hardware: PairedHardware, proving prover: any CommandProver,
    over transport: any LinkTransport, memory store: any LinkMemoryStore,
    clock: any Clock<Duration> = ContinuousClock(), options: Options = Options()
  ) {
    self.init(
      to: hardware, proving: prover, over: transport, memory: store, clock: clock,
      options: options, keeping: nil)
  }

  /// Describes the way to one piece of hardware whose pairs may be renewed meanwhile.
  package init(
    to hardware: PairedHardware, proving prover: any CommandProver,
    over transport: any LinkTransport, memory store: any LinkMemoryStore,
    clock: any Clock<Duration> = ContinuousClock(), options: Options = Options(),
    keeping keeper: ConnectionKeeper?
  ) {
    self.hardware = hardware
    self.prover = prover
    before = nil
    self.transport = transport
    memoryStore = store
    self.clock = clock
    self.options = options
    self.keeper = keeper
  }

  deinit {
    link?.task?.cancel()
    link?.channel?.close()
  }

  /// The queue on which the actor runs, and on which it measures: not a thread of the shared pool.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe queue.asUnownedSerialExecutor()
  }

  /// The connection's memory of the hardware, once it is loaded.
  package internal(set) var memory = LinkMemory()
  var isLoaded = false

  /// The reason why the latest attempt to open a link failed. Nil once a link is up.
  var obstacle: LinkUnavailable?

  private(set) var hardware: PairedHardware
  private(set) var prover: any CommandProver
  private let keeper: ConnectionKeeper?
  /// The pair that the hardware may still hold, where ``hardware`` is an upcoming one.
  private(set) var before: ConnectionKeeper.Pair?
  let transport: any LinkTransport
  let options: Options
  let clock: any Clock<Duration>
  let memoryStore: any LinkMemoryStore
  private nonisolated let queue = LinkQueue()
  /// The queue that resumes waiting calls, before they continue on the actor's queue.
  let resuming = LinkTaskQueue()

  /// The link that is up, or on its way.
  var link: ConnectionLink?
  var linkCount = 0
  /// The handle at which challenges for sealed commands are read, once it is known.
  var sealHandle: UInt16 = 0
  /// The number of links that were opened, over all calls.
  var openedCount = 0
  /// Calls that wait for their turn; the first has it.
  var calls: [ConnectionCall] = []
  var callCount = 0

  /// Takes the pair that the app fits, at the beginning of a call.
  func takeNewestPair() {
    guard let found = keeper?.fitting() else { return }
    (hardware, prover) = found.chosen
    before = found.before
  }

  /// The pair that the app fits, without taking it; and the present one if that is another.
  func newestPair() -> (chosen: ConnectionKeeper.Pair, before: ConnectionKeeper.Pair?) {
    keeper?.fitting() ?? ((hardware, prover), before)
  }

  /// Has the next report tell of the copy in the memory.
  func noteCopy() { keeper?.noteCopy() }

  /// Forgets a copy of which the service knows.
  func forgetReportedCopy() throws(LinkError) {
    if memory.hasSeenCopy, keeper?.hasReportedCopy() == true { try forgetCopy() }
  }

  /// Has the older pairs deleted, once the hardware accepted a command under this one.
  func noteAccepted() {
    keeper?.accepted(hardware)
    before = nil
  }

  /// Opens the link, if there is none.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Throws: ``LinkError``.
  package func connect(within deadline: Duration = .seconds(30)) async throws(LinkError) {
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
  package func present(
    within deadline: Duration = .seconds(30)
  ) async throws(LinkError) -> Receipt {
    guard case .receipt(let receipt) = try await perform(within: deadline, { .present }) else {
      preconditionFailure("a token's exchange ends with a receipt")
    }
    return receipt
  }

  /// Sends a command, at most once, and returns the hardware's receipt.
  ///
  /// A command left open by an earlier call or run is settled first. If it was executed, or if the
  /// hardware can no longer tell, this one is not sent: ``LinkError/Reason/earlierCommand``. The app
  /// decides, and calls again if it still wants to.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - deadline: The time limit of the call.
  /// - Returns: The hardware's receipt for the command.
  /// - Throws: ``LinkError``.
  @discardableResult
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

  /// Settles the command that an earlier call or run left open.
  ///
  /// - Parameter deadline: The time limit of the call.
  /// - Returns: The outcome; nil if no command is open.
  /// - Throws: ``LinkError``.
  public func settle(within deadline: Duration = .seconds(30)) async throws(LinkError) -> Outcome? {
    try load()
    if calls.isEmpty, memory.openCommand == nil { return nil }
    let outcome = try await perform(within: deadline) {
      () throws(LinkError) in
      try self.openRecall().map { .settle($0) } ?? .connect
    }
    guard case .settled(let outcome) = outcome else { return nil }
    return outcome
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
  /// - Throws: ``LinkError``.
  public func deliver(
    _ order: SignedOrder, within deadline: Duration = .seconds(30)
  ) async throws(LinkError) {
    _ = try await perform(within: deadline) { .order(order) }
  }

  /// Collects the hardware's log, for the backend. The app cannot read the entries.
  ///
  /// The hardware hands out its log on a link on which it accepted a command, 16 parts for each: call
  /// this after ``send(_:proving:within:)``. A link that ends meanwhile ends the collection with the
  /// parts that came; begin the next one at the end of the last part's entries. Store
  /// ``/ProofModel/HardwareLogPart/bytes`` and send them to the backend as they are.
  ///
  /// - Parameters:
  ///   - first: The first entry. If the hardware has it no more, the log begins at its oldest.
  ///   - nonce: The backend's, where it has to tell a fresh answer from an old one.
  ///   - deadline: The time limit of the call.
  /// - Returns: The parts, in the order of their entries; at least one. The log is complete if the last
  ///   one says so (``/ProofModel/HardwareLogPart/isLast``).
  /// - Throws: ``LinkError``; ``LinkError/Reason/logNotPermitted`` without an accepted command,
  ///   ``LinkError/Reason/logMissing`` if there is no log.
  public func collectLog(
    from first: UInt64 = 0, answering nonce: HardwareLogNonce = .random(),
    within deadline: Duration = .seconds(30)
  ) async throws(LinkError) -> [HardwareLogPart] {
    let outcome = try await perform(within: deadline) { .log(from: first, nonce) }
    guard case .log(let parts) = outcome else {
      preconditionFailure("collecting the log ends with its parts")
    }
    return parts
  }

  /// Ends the link, if there is one. The next call opens another.
  public func disconnect() {
    guard let number = link?.number else { return }
    hangUp()
    calls.first?.tell(.link(number, .disconnected))
  }

  /// Whether a command is open. Uses no link.
  ///
  /// - Throws: ``LinkError`` if the memory cannot be read.
  public func hasOpenCommand() throws(LinkError) -> Bool {
    try load()
    return memory.openCommand != nil
  }

  /// Whether the hardware has told that another copy of the app has sent commands. Uses no link.
  ///
  /// Only a token with a ratchet can tell it. A connection that an ``/ProofKit/Attestor`` made has the
  /// attestor's next fetch report it, and forgets it once the service has answered. Otherwise report
  /// it yourself, and then call ``forgetCopy()``.
  ///
  /// - Throws: ``LinkError`` if the memory cannot be read.
  public func hasSeenCopy() throws(LinkError) -> Bool {
    try load()
    try forgetReportedCopy()
    return memory.hasSeenCopy
  }

  /// Forgets that a copy was seen, once the service was told.
  ///
  /// - Throws: ``LinkError`` if the memory cannot be read or stored.
  public func forgetCopy() throws(LinkError) {
    try load()
    var changed = memory
    changed.hasSeenCopy = false
    try store(changed)
  }

  /// Stops asking about the command that was left open, after a person has looked at the device.
  ///
  /// With a ratchet, prefer ``settle(within:)``: if the forgotten command was done, this app is out
  /// of step, and the hardware tells of a copy at the next command.
  ///
  /// - Throws: ``LinkError`` if the memory cannot be read or stored.
  public func forgetOpenCommand() throws(LinkError) {
    try load()
    var changed = memory
    changed.openCommand = nil
    changed.ratchet = changed.ratchet?.following(.notExecuted, counter: 0)
    try store(changed)
  }
}
