// SPDX-License-Identifier: Apache-2.0

/// A backend's order to hardware, delivered by any app.
///
/// Orders only move the hardware forward: delivering one twice, late or out of turn does no harm.
public struct Order: Sendable, Hashable {
  /// The most seconds by which one order or token moves the hardware's time: 400 days. Hardware
  /// answers ``Verdict/expired`` to an order or a token that was issued later.
  public static var epochStep: UInt64 { CoreOrder.epochStep }

  /// The action that the hardware takes.
  public enum Action: Sendable, Hashable {
    /// The hardware's time is at least the time of issue.
    case epoch(HardwareID)
    /// Tokens of an instance, up to and including a generation, are revoked; nil for all, for good.
    case revoke(InstanceID, through: UInt32?, HardwareID)
    /// Tokens issued before this order are superseded, and their slots become free.
    case floor(HardwareID)
  }

  /// The action that the hardware takes.
  public let action: Action
  /// The time of issue. Every order says that it is at least this late.
  public let issued: UnixTime

  /// Checks and takes an order.
  ///
  /// - Parameters:
  ///   - action: The action that the hardware takes. A generation is 1 to 2^32 - 2.
  ///   - issued: The time of issue, after 1970 began; a fraction of a second is not written.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(_ action: Action, issued: UnixTime) throws(ProofError) {
    guard issued.seconds > 0 else {
      throw .outOfRange(field: "time of issue", value: "\(issued)", allowed: "Unix seconds from 1")
    }
    if case .revoke(_, let generation?, _) = action, generation == 0 || generation == .max {
      throw .outOfRange(
        field: "generation", value: "\(generation)", allowed: "1 to 4294967294, or nil for all")
    }
    self.action = action
    self.issued = issued
  }

  /// Signs the order.
  ///
  /// - Parameter issuer: The backend's signing key.
  /// - Returns: The signed order, for apps to deliver.
  public func signed(by issuer: IssuerKey) -> SignedOrder {
    SignedOrder(made: CoreOrder.sign(self, by: issuer.core))
  }
}

/// An order with its signature: 124 bytes that any app may carry.
public struct SignedOrder: Sendable, Hashable {
  /// The length of a signed order, in bytes.
  public static var byteCount: Int { CoreWire.order }

  /// The order's bytes.
  public let bytes: [UInt8]

  /// Checks length, magic, version and suite. Further checks need the issuers' keys.
  ///
  /// - Parameter bytes: A signed order's bytes.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    try CoreWire.check(bytes, CoreWire.order, CoreWire.orderMagic, "order")
    self.bytes = bytes
  }

  /// Takes an order that the core made.
  init(made bytes: [UInt8]) { self.bytes = bytes }

  /// The order as a message.
  public var message: Message { Message(encoded: .order, bytes) }
}
