// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofModel

/// Makes and opens the tickets of a gate: grants of gate tokens that a node opened, under a key that all nodes share.
///
/// A node that does not know an app opens its ticket with symmetric work alone. A ticket admits nothing by itself: each
/// request needs a proof by the keys that are in it.
public struct TicketDesk: Sendable {
  /// How many bytes a ticket has.
  public static let byteCount = 4 + GateGrant.ticketByteCount + CoreAEAD.addedByteCount
  /// How many characters it has in a header.
  public static let characterCount = 256
  static let label: StaticString = "pfc1.gate-ticket"
  static let head: UInt8 = 0x1B

  private let keys: GateKeySet
  private let gate: GateID

  /// A desk with a gate's own keys.
  public init(_ own: GateOwnKeys) { self.init(own[.ticket], own.gate) }

  init(_ keys: GateKeySet, _ gate: GateID) {
    self.keys = keys
    self.gate = gate
  }

  /// Makes the ticket of an app.
  ///
  /// - Parameter grant: The grant that the gate opened from the app's token.
  /// - Returns: The ticket in base64url: the value of `Proof-Ticket`.
  public func ticket(for grant: GateGrant) -> String { ticket(for: grant, nonce: nil) }

  /// The same with a nonce that a vector gives.
  func ticket(for grant: GateGrant, nonce: [UInt8]?) -> String {
    let key = keys.active
    let head = [Self.head, key.number, 0, 0]
    let body = grant.ticketBody
    let sealed = key.withBytes {
      CoreAEAD.seal(body, with: Self.data(head, gate), key: $0, nonce: nonce)
    }
    return Base64.encode(head + sealed, .url)
  }

  /// Opens a ticket. The verifier looks up revocations afterwards.
  ///
  /// - Parameters:
  ///   - text: The ticket that a client sent.
  ///   - mode: The gate's mode.
  ///   - floor: Gate tokens that were issued before are superseded; 0 for none.
  ///   - now: The highest time that the node has seen.
  /// - Returns: The grant.
  /// - Throws: ``TicketRefusal``.
  public func open(
    _ text: String, mode: Mode, floor: UnixTime = 0, at now: UnixTime
  ) throws(TicketRefusal) -> GateGrant {
    guard text.utf8.count == Self.characterCount, let bytes = Base64.decode(text, .url) else {
      throw .text
    }
    guard bytes[0] == Self.head, bytes[2] == 0, bytes[3] == 0 else { throw .kind }
    guard let key = keys.key(bytes[1]) else { throw .key }
    let data = Self.data(Array(bytes[..<4]), gate)
    guard let body = key.withBytes({ CoreAEAD.open(bytes[4...], with: data, key: $0) }) else {
      throw .seal
    }
    guard let grant = GateGrant(ticketBody: body, for: gate) else { throw .range }
    guard grant.mode == mode else { throw .mode }
    guard grant.notAfter >= now else { throw .expired }
    guard grant.issued >= floor else { throw .superseded }
    return grant
  }

  private static func data(_ head: [UInt8], _ gate: GateID) -> [UInt8] {
    Array(label.description.utf8) + head + gate.bytes
  }
}

/// The reason why a ticket does not open. The client then sends its gate token.
public enum TicketRefusal: Error, Sendable, Hashable, CaseIterable {
  /// It is not 256 characters of base64url.
  case text
  /// It is another kind of text, or has a version that this build does not know.
  case kind
  /// It was made with an own secret that the gate does not hold.
  case key
  /// It was altered, or sealed by another gate.
  case seal
  /// A field has a value that no gate writes.
  case range
  /// It is a development app's at a production gate, or the reverse.
  case mode
  /// The life of its gate token is over.
  case expired
  /// Its gate token was issued before the floor of the gate's configuration.
  case superseded
}

extension TicketRefusal: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .text: "The ticket is not \(TicketDesk.characterCount) characters of base64url."
    case .kind: "The text is no ticket that this gate knows."
    case .key: "The gate holds no own secret of the number in the ticket."
    case .seal: "The ticket does not open."
    case .range: "A field of the ticket has a value that this gate does not write."
    case .mode: "The ticket is of the other mode: development or production."
    case .expired: "The ticket's gate token has expired."
    case .superseded: "The ticket's gate token is superseded by a newer configuration of the gate."
    }
  }
}
