/// Where the hardware's attributes stand: found by their UUIDs, once for each piece of hardware.
package struct AttributeTable: Sendable, Hashable {
  package var token: UInt16
  package var challenge: UInt16
  package var command: UInt16
  package var verdict: UInt16
  package var verdictDescriptor: UInt16
  package var status: UInt16
  package var order: UInt16
  package var recall: UInt16
  package var reply: UInt16
}
