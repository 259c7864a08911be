// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The handles of the hardware's attributes: found by their UUIDs, once for each piece of hardware.
package struct AttributeTable: Sendable, Hashable {
  /// The attributes of the service, by the numbers of their UUIDs (docs/LINK.md, section 3).
  package enum Characteristic: UInt16, Sendable, CaseIterable {
    case token = 2
    case challenge = 3
    case command = 4
    case verdict = 5
    case status = 6
    case order = 7
    case recall = 8
    case reply = 9
  }

  /// The handles of the values.
  package var values: [Characteristic: UInt16]
  /// The handle of the descriptor by which verdicts are subscribed to.
  package var verdictDescriptor: UInt16

  package init(values: [Characteristic: UInt16], verdictDescriptor: UInt16) {
    self.values = values
    self.verdictDescriptor = verdictDescriptor
  }

  /// All handles: those of the values by their UUIDs' numbers, and the descriptor's.
  var handles: [UInt16] { Characteristic.allCases.map { self[$0] } + [verdictDescriptor] }

  /// The table of these handles, in the order of `handles`; there must be as many.
  init(handles: [UInt16]) {
    values = Dictionary(uniqueKeysWithValues: zip(Characteristic.allCases, handles))
    verdictDescriptor = handles[Characteristic.allCases.count]
  }

  /// A value's handle; 0, which no attribute has, if it is unknown.
  package subscript(_ characteristic: Characteristic) -> UInt16 { values[characteristic] ?? 0 }

  static let serviceNumber: UInt16 = 1
  /// The characteristic at which apps ask for the log. Not every hardware has it, so it is looked for
  /// when it is needed, and not stored.
  static let logNumber: UInt16 = 11
  /// The characteristic that gives challenges for sealed commands. Looked for in the same way.
  static let sealedChallengeNumber: UInt16 = 12
  /// The characteristic to which delegations are written. Looked for in the same way.
  static let delegationNumber: UInt16 = 13

  /// `db19NNNN-3eda-4f44-b2cd-07db92324554`, as it stands on the wire.
  static func uuid(_ number: UInt16) -> [UInt8] {
    [
      0x54, 0x45, 0x32, 0x92, 0xDB, 0x07, 0xCD, 0xB2, 0x44, 0x4F, 0xDA, 0x3E,
    ] + number.littleEndianBytes + [0x19, 0xDB]
  }

  /// The characteristic of a UUID, if it is one of this service's.
  static func characteristic(of uuid: ArraySlice<UInt8>) -> Characteristic? {
    Characteristic.allCases.first { uuid.elementsEqual(Self.uuid($0.rawValue)) }
  }
}
