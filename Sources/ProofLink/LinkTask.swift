// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// The goal of an exchange.
package enum LinkTask: Sendable {
  /// A link, and nothing more.
  case connect
  /// A receipt that the hardware holds the token.
  case present
  /// A command, done at most once; after the open one of an earlier call, if any, is settled.
  case command(after: Recall?)
  /// The outcome of an open command.
  case settle(Recall)
  case status
  case reply
  case order(SignedOrder)
  /// A delegation, brought to the hardware by this app.
  case delegation(Delegation, LoanParty)
  /// The hardware's log from this entry on, under this nonce.
  case log(from: UInt64, HardwareLogNonce)
}

/// The result of an exchange.
package enum LinkOutcome: Sendable, Hashable {
  case connected
  case receipt(Receipt)
  case settled(Outcome)
  case status(HardwareStatus)
  case reply([UInt8])
  case orderDone
  case log([HardwareLogPart])
  /// The receipt is nil where it is another app's.
  case delegated(Receipt?)
}

/// The app that brings a delegation.
package enum LoanParty: Sendable, Hashable {
  /// The app that may read the hardware's receipt.
  case reader
  /// The same, whose token the delegation names. The hardware must hold it first.
  case member
  /// Another app.
  case courier
}

/// A link that is up: MTU exchanged, attributes known, verdicts subscribed to.
package struct OpenLink: Sendable, Hashable {
  package let mtu: Int
  package let table: AttributeTable

  package init(mtu: Int, table: AttributeTable) {
    self.mtu = mtu
    self.table = table
  }
}

/// The app's input to an exchange.
package struct LinkRequest: Sendable {
  package let task: LinkTask
  package let token: MeasurementToken
  /// Whether the hardware is known to hold the token.
  package let isHeld: Bool
  package let mtu: Int
  /// The handles of the attributes, if they are known.
  package let table: AttributeTable?
  /// The link that is up, if there is one.
  package let link: OpenLink?
  /// Whether commands are sealed.
  package let seals: Bool
  /// The handle at which challenges for sealed commands are read; 0 if it is unknown.
  package let sealHandle: UInt16
  /// The channel on the link that is up, for this command; nil for a fresh proof.
  package let channel: CommandChannel?

  package init(
    _ task: LinkTask, token: MeasurementToken, isHeld: Bool, mtu: Int = 185,
    table: AttributeTable? = nil, link: OpenLink? = nil, seals: Bool = false,
    sealHandle: UInt16 = 0, channel: CommandChannel? = nil
  ) {
    self.task = task
    self.token = token
    self.isHeld = isHeld
    self.mtu = mtu
    self.table = table
    self.link = link
    self.seals = seals
    self.sealHandle = sealHandle
    self.channel = channel
  }
}
