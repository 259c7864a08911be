// SPDX-License-Identifier: Apache-2.0

import ProofLink
import ProofModel
import VirtualHardware

/// A lock in memory: the real hardware side, on flash that power cuts tear. It starts when a central connects to it.
final class VirtualLock: Sendable {
  /// How the flash is left by the operation in which power fails.
  enum Tear: Int, CaseIterable, Sendable {
    case nothing, part, noise
  }

  /// One central's link.
  struct Link: Sendable {
    fileprivate let number: Int32
    fileprivate let start: Int
  }

  private struct State {
    var start = 0
    var features: HardwareFeatures = [.tokenVersionTwo, .ratchet, .upcoming]
    var issuers: [IssuerPublicKey]
    var secretKey: [UInt8]
    /// The highest counter of its earlier ledgers.
    var counter: UInt64 = 1
  }

  /// Makes and scraps pieces one after the other.
  private static let table = CoreLock(())

  let id: HardwareID
  let drawn: [UInt8]?
  private let piece: Int32
  private let state: CoreLock<State>

  // `seed` makes its id, its key and its dice; `id` is that of another lock; with `keepsLog` it has a factory secret and
  // a log; with `lends` it takes grants; `epoch` is the time of its provisioning, 0 for unknown.
  /// A lock that was provisioned in the factory, and is not started yet.
  init(
    seed: UInt64, id: HardwareID? = nil, issuers: [IssuerPublicKey], keepsLog: Bool = false,
    lends: Bool = false, epoch: UnixTime = 0
  ) throws {
    self.id = try id ?? HardwareID(Self.bytes("id", seed, 16))
    drawn = keepsLog ? Self.bytes("drawn", seed, 32) : nil
    state = CoreLock(State(issuers: issuers, secretKey: Self.bytes("key", seed, 32)))
    let (idBytes, key) = (self.id.bytes, Self.bytes("key", seed, 32))
    piece = Self.table.withLock { _ in
      unsafe idBytes.withUnsafeBufferPointer { id in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe virtual_hardware_make(id.baseAddress, key.baseAddress, seed)
        }
      }
    }
    precondition(piece >= 0, "there is room for one more piece of hardware")
    if let drawn {
      unsafe drawn.withUnsafeBufferPointer { unsafe virtual_hardware_draw(piece, $0.baseAddress) }
      state.withLock { $0.features.formUnion([.factorySecret, .log]) }
    }
    if lends {
      virtual_hardware_lend(piece)
      state.withLock { $0.features.formUnion(.grants) }
    }
    try provision(epoch: epoch)
  }

  deinit { Self.table.withLock { _ in virtual_hardware_scrap(piece) } }

  private static func bytes(_ what: String, _ seed: UInt64, _ count: Int) -> [UInt8] {
    Array(Digest(hashing: Array("\(what) \(seed)".utf8)).bytes.prefix(count))
  }

  var features: HardwareFeatures { state.withLock { $0.features } }

  var identity: HardwareIdentity {
    get throws {
      let (key, issuers) = state.withLock { ($0.secretKey, $0.issuers) }
      return try HardwareKeys(
        id: id, secretKey: SecretBytes(copying: key.span), mode: .development, issuers: issuers
      ).identity
    }
  }

  // MARK: The operator, with a cable

  /// Provisions it again: an empty ledger, whose challenges begin behind those of before.
  func provision(
    issuers: [IssuerPublicKey]? = nil, newKey seed: UInt64? = nil, epoch: UnixTime = 0,
    floor: UnixTime = 0
  ) throws {
    let result = state.withLock { state -> Int32 in
      if let issuers { state.issuers = issuers }
      if let seed { state.secretKey = Self.bytes("key", seed, 32) }
      state.counter += 1 << 24
      state.start += 1
      unsafe state.secretKey.withUnsafeBufferPointer {
        unsafe virtual_hardware_rekey(piece, $0.baseAddress)
      }
      virtual_hardware_distrust(piece)
      for issuer in state.issuers {
        let bytes = issuer.bytes
        unsafe bytes.withUnsafeBufferPointer {
          unsafe virtual_hardware_trust(piece, $0.baseAddress)
        }
      }
      return virtual_hardware_provision(
        piece, epoch.unsigned, floor.unsigned, state.counter)
    }
    guard result == 0 else { throw LinkUnavailable("provisioning answered \(result)") }
  }

  /// It answers sealed commands from its next start on.
  func seal() {
    state.withLock { state in
      state.features.formUnion(.sealedCommands)
      virtual_hardware_seal(piece, 1)
    }
  }

  /// It answers sealed commands and opens channels from its next start on.
  func keepChannels() {
    seal()
    state.withLock { state in
      state.features.formUnion(.channels)
      virtual_hardware_keep_channels(piece, 1)
    }
  }

  // MARK: Power, time, flash

  func powerOn() { state.withLock { powerOn(&$0) } }

  private func powerOn(_ state: inout State) {
    state.start += 1
    _ = virtual_hardware_start(piece)
  }

  /// Power fails in the flash operation of this number from now on, counted from 1; 0 for never.
  func cutPower(at operation: Int, _ tear: Tear = .part) {
    state.withLock { _ in
      virtual_hardware_cut(
        piece, UInt32(operation), virtual_hardware_tear(rawValue: UInt32(tear.rawValue)))
    }
  }

  var isDark: Bool { state.withLock { _ in virtual_hardware_is_dark(piece) != 0 } }
  var doneCount: Int { state.withLock { _ in Int(virtual_hardware_done(piece)) } }
  var flashOperations: Int { state.withLock { _ in Int(virtual_hardware_operations(piece)) } }
  var flashErases: Int { state.withLock { _ in Int(virtual_hardware_erases(piece)) } }
  var epoch: UnixTime {
    state.withLock { _ in UnixTime(clamping: virtual_hardware_epoch(piece)) }
  }

  /// The generation that it holds for an instance; 0 for none.
  func generation(of instance: InstanceID) -> UInt32 {
    unsafe asks(instance) { unsafe virtual_hardware_generation($0, $1) }
  }

  /// The uses that are left to an instance; 0 without a token.
  func uses(of instance: InstanceID) -> Int {
    Int(unsafe asks(instance) { unsafe virtual_hardware_uses($0, $1) })
  }

  /// The uses that are left of what an instance was lent; 0 for none.
  func usesLent(to instance: InstanceID) -> Int {
    Int(unsafe asks(instance) { unsafe virtual_hardware_lent($0, $1) })
  }

  private func asks(
    _ instance: InstanceID, _ question: (Int32, UnsafePointer<UInt8>?) -> UInt32
  ) -> UInt32 {
    let bytes = instance.bytes
    return state.withLock { _ in
      unsafe bytes.withUnsafeBufferPointer { unsafe question(piece, $0.baseAddress) }
    }
  }

  func pass(seconds: Int) {
    state.withLock { _ in virtual_hardware_pass(piece, UInt32(seconds)) }
  }

  /// All of its flash.
  var flash: [UInt8] {
    state.withLock { _ in
      var bytes = [UInt8](repeating: 0, count: virtual_hardware_flash_size())
      unsafe bytes.withUnsafeMutableBufferPointer {
        unsafe virtual_hardware_read_flash(piece, $0.baseAddress)
      }
      return bytes
    }
  }

  /// Puts flash of before back, and starts the lock.
  func restore(_ flash: [UInt8]) {
    state.withLock { state in
      unsafe flash.withUnsafeBufferPointer {
        unsafe virtual_hardware_put_flash(piece, $0.baseAddress)
      }
      powerOn(&state)
    }
  }

  // MARK: Links

  /// A new link; nil if it has none. Power is back when the next central comes.
  func connect() -> Link? {
    state.withLock { state in
      if virtual_hardware_is_dark(piece) != 0 { powerOn(&state) }
      let number = virtual_hardware_connect(piece)
      return number < 0 ? nil : Link(number: number, start: state.start)
    }
  }

  func disconnect(_ link: Link) {
    state.withLock { state in
      if state.start == link.start { virtual_hardware_disconnect(piece, link.number) }
    }
  }

  /// Takes a PDU and returns those that it sends; whether the link goes on.
  func receive(_ pdu: [UInt8], on link: Link) -> (sent: [[UInt8]], goesOn: Bool) {
    state.withLock { state in
      guard state.start == link.start else { return ([], false) }
      let closes = unsafe pdu.withUnsafeBufferPointer {
        unsafe virtual_hardware_receive(piece, link.number, $0.baseAddress, $0.count)
      }
      var sent: [[UInt8]] = []
      var buffer = [UInt8](repeating: 0, count: VIRTUAL_HARDWARE_PDU_MAX)
      while true {
        let size = unsafe buffer.withUnsafeMutableBufferPointer {
          unsafe virtual_hardware_take(piece, link.number, $0.baseAddress)
        }
        if size == 0 { return (sent, closes == 0) }
        sent.append(Array(buffer.prefix(size)))
      }
    }
  }
}

/// The way from one phone to one lock. The test decides about each event on it.
final class Way: LinkTransport {
  /// An opening, or a PDU in either direction.
  struct Event: Sendable {
    /// Counted from 1, over all links.
    let number: Int
    /// Nil for an opening.
    let pdu: [UInt8]?
    let isToApp: Bool

    /// The type of the message that begins with this PDU from the app: 4 COMMAND, 9 SEALED-UP,
    /// 13 GRANT.
    var begins: UInt8? {
      guard !isToApp, let pdu, pdu.count > 3, pdu[0] == 0x52, pdu[3] & 0x80 != 0 else { return nil }
      return pdu[3] & 15
    }

    /// Whether it is a packet of an answer: VERDICT or SEALED-DOWN.
    var isOfAnswer: Bool { isToApp && pdu?.prefix(2) == [0x1B, 0x0A] }
  }

  /// True if the link ends in place of the event.
  typealias Cuts = @Sendable (Event) -> Bool

  private struct State {
    var count = 0
    var begun: [UInt8] = []
    var cuts: Cuts
  }

  let lock: VirtualLock
  private let state: CoreLock<State>

  init(_ lock: VirtualLock, cuts: @escaping Cuts = { _ in false }) {
    self.lock = lock
    state = CoreLock(State(cuts: cuts))
  }

  /// Events so far.
  var count: Int { state.withLock { $0.count } }

  /// The types of the messages that the app has begun to send.
  var begun: [UInt8] { state.withLock { $0.begun } }

  /// Begins to count anew.
  func cut(_ cuts: @escaping Cuts) { state.withLock { $0 = State(cuts: cuts) } }

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    guard survives(nil, isToApp: false) else { throw LinkUnavailable("out of reach") }
    guard let link = lock.connect() else { throw LinkUnavailable("no link is free") }
    return WayChannel(self, link)
  }

  fileprivate func survives(_ pdu: [UInt8]?, isToApp: Bool) -> Bool {
    let (event, cuts) = state.withLock { state in
      state.count += 1
      let event = Event(number: state.count, pdu: pdu, isToApp: isToApp)
      if let type = event.begins { state.begun.append(type) }
      return (event, state.cuts)
    }
    return !cuts(event)
  }
}

private final class WayChannel: LinkChannel {
  let received: AsyncStream<[UInt8]>
  private let inbox: AsyncStream<[UInt8]>.Continuation
  private let way: Way
  private let link: VirtualLock.Link
  private let isUp = CoreLock(true)

  init(_ way: Way, _ link: VirtualLock.Link) {
    (self.way, self.link) = (way, link)
    (received, inbox) = AsyncStream.makeStream()
  }

  func send(_ pdu: [UInt8]) {
    guard isUp.withLock({ $0 }) else { return }
    guard way.survives(pdu, isToApp: false) else { return close() }
    let (answers, goesOn) = way.lock.receive(pdu, on: link)
    for answer in answers {
      guard way.survives(answer, isToApp: true) else { return close() }
      inbox.yield(answer)
    }
    if !goesOn { close() }
  }

  func close() {
    let wasUp = isUp.withLock { isUp in
      defer { isUp = false }
      return isUp
    }
    guard wasUp else { return }
    way.lock.disconnect(link)
    inbox.finish()
  }
}
