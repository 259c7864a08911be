// SPDX-License-Identifier: Apache-2.0

/// The procedure on a fresh link before the first message. It exchanges the MTU, discovers the
/// attributes by their UUIDs unless they are known, and subscribes to verdicts.
///
/// One request at a time; no input or output of its own.
struct LinkOpening {
  /// The caller's next step.
  enum Step: Equatable {
    /// Send this, and wait for the response.
    case send([UInt8])
    /// An unexpected PDU: a repetition of an earlier response, or a notification.
    case wait
    /// The link is ready.
    case ready
    /// The hardware refuses, or lacks an attribute: give the link up.
    case failed
  }

  private enum Phase {
    case exchanging
    case findingService
    case findingCharacteristics(ClosedRange<UInt16>)
    case findingDescriptor(ClosedRange<UInt16>)
    case subscribing
  }

  private let wanted: Int
  private var phase = Phase.exchanging
  private var found: [AttributeTable.Characteristic: UInt16] = [:]
  private var declarations: [UInt16] = []
  private var service: ClosedRange<UInt16> = 1...0xFFFF

  private(set) var mtu = LinkPDU.mtus.lowerBound
  /// The attributes found so far.
  private(set) var table: AttributeTable?

  init(mtu: Int, table: AttributeTable?) {
    wanted = min(max(mtu, LinkPDU.mtus.lowerBound), LinkPDU.mtus.upperBound)
    self.table = table
  }

  mutating func start() -> Step {
    guard wanted > mtu else { return discover() }
    return .send(LinkPDU.exchange(mtu: wanted))
  }

  mutating func receive(_ pdu: [UInt8]) -> Step {
    switch phase {
    case .exchanging: exchanged(pdu)
    case .findingService: foundService(pdu)
    case .findingCharacteristics(let range): foundCharacteristics(pdu, in: range)
    case .findingDescriptor(let range): foundDescriptor(pdu, in: range)
    case .subscribing: subscribed(pdu)
    }
  }

  private mutating func exchanged(_ pdu: [UInt8]) -> Step {
    if pdu.count == 3, pdu[0] == LinkPDU.mtuResponse {
      mtu = max(mtu, min(wanted, Int(LinkPDU.number(pdu[1...]))))
      return discover()
    }
    // The hardware supports no other MTU: stay with the smallest.
    return LinkPDU.refuses(LinkPDU.mtuRequest, pdu) ? discover() : .wait
  }

  private mutating func discover() -> Step {
    if let table { return subscribe(table) }
    phase = .findingService
    return .send(LinkPDU.groups(LinkPDU.primaryService, in: service))
  }

  private mutating func foundService(_ pdu: [UInt8]) -> Step {
    if LinkPDU.refuses(LinkPDU.groupRequest, pdu) { return .failed }
    guard let entries = Self.entries(pdu, of: LinkPDU.groupResponse, atLeast: 4) else {
      return .wait
    }
    // An entry below the range asked for: a repetition of the response before.
    if LinkPDU.number(entries[0]) < service.lowerBound { return .wait }
    var last = service.lowerBound
    for entry in entries {
      let range = (LinkPDU.number(entry), LinkPDU.number(entry.dropFirst(2)))
      guard range.0 >= last, range.1 >= range.0 else { return .failed }
      last = range.1
      if entry.dropFirst(4).elementsEqual(AttributeTable.uuid(AttributeTable.serviceNumber)) {
        service = range.0...range.1
        return findCharacteristics(from: range.0)
      }
    }
    guard last < service.upperBound else { return .failed }
    service = (last + 1)...service.upperBound
    return .send(LinkPDU.groups(LinkPDU.primaryService, in: service))
  }

  private mutating func findCharacteristics(from first: UInt16) -> Step {
    let range = first...service.upperBound
    phase = .findingCharacteristics(range)
    return .send(LinkPDU.attributes(LinkPDU.characteristic, in: range))
  }

  private mutating func foundCharacteristics(
    _ pdu: [UInt8], in range: ClosedRange<UInt16>
  ) -> Step {
    if LinkPDU.refuses(LinkPDU.typeRequest, pdu) { return findDescriptor() }
    guard let entries = Self.entries(pdu, of: LinkPDU.typeResponse, atLeast: 5) else {
      return .wait
    }
    // An entry below the range asked for: a repetition of the response before.
    if LinkPDU.number(entries[0]) < range.lowerBound { return .wait }
    var last = range.lowerBound
    for entry in entries {
      let (declaration, value) = (LinkPDU.number(entry), LinkPDU.number(entry.dropFirst(3)))
      guard declaration >= last, value > declaration, range.contains(value) else {
        return .failed
      }
      declarations.append(declaration)
      if let characteristic = AttributeTable.characteristic(of: entry.dropFirst(5)) {
        found[characteristic] = value
      }
      last = value
    }
    let isComplete = found.count == AttributeTable.Characteristic.allCases.count
    guard !isComplete, last < range.upperBound else { return findDescriptor() }
    return findCharacteristics(from: last + 1)
  }

  /// Finds the descriptor, between its characteristic's value and the next declaration.
  private mutating func findDescriptor() -> Step {
    guard found.count == AttributeTable.Characteristic.allCases.count, let verdict = found[.verdict]
    else { return .failed }
    let last = (declarations.filter { $0 > verdict }.min() ?? .max) - 1
    guard verdict < min(last, service.upperBound) else { return .failed }
    let range = (verdict + 1)...min(last, service.upperBound)
    phase = .findingDescriptor(range)
    return .send(LinkPDU.attributes(LinkPDU.descriptor, in: range))
  }

  private mutating func foundDescriptor(_ pdu: [UInt8], in range: ClosedRange<UInt16>) -> Step {
    if LinkPDU.refuses(LinkPDU.typeRequest, pdu) { return .failed }
    // A repetition of an earlier response is of another length.
    guard let entry = Self.entries(pdu, of: LinkPDU.typeResponse, atLeast: 2)?.first,
      entry.count == 4
    else { return .wait }
    let handle = LinkPDU.number(entry)
    guard range.contains(handle) else { return .failed }
    let table = AttributeTable(values: found, verdictDescriptor: handle)
    self.table = table
    return subscribe(table)
  }

  private mutating func subscribe(_ table: AttributeTable) -> Step {
    phase = .subscribing
    return .send(LinkPDU.subscribe(table.verdictDescriptor))
  }

  private mutating func subscribed(_ pdu: [UInt8]) -> Step {
    if LinkPDU.refuses(LinkPDU.writeRequest, pdu) { return .failed }
    return pdu == [LinkPDU.writeResponse] ? .ready : .wait
  }

  /// The result of a search for one characteristic, by one response.
  enum Search: Equatable {
    /// A repetition of an earlier response, or no response.
    case nothing
    /// The handle of its value.
    case value(UInt16)
    /// It may stand in this range.
    case goOn(ClosedRange<UInt16>)
    case missing
  }

  /// Reads the response to a discovery of the characteristics in a range.
  static func search(
    _ pdu: [UInt8], for number: UInt16, in range: ClosedRange<UInt16>
  ) -> Search {
    if LinkPDU.refuses(LinkPDU.typeRequest, pdu) { return .missing }
    guard let entries = entries(pdu, of: LinkPDU.typeResponse, atLeast: 5),
      // An entry below the range asked for: a repetition of the response before.
      range.contains(LinkPDU.number(entries[0]))
    else { return .nothing }
    var last = range.lowerBound
    for entry in entries {
      let value = LinkPDU.number(entry.dropFirst(3))
      guard value > last else { return .missing }
      if entry.dropFirst(5).elementsEqual(AttributeTable.uuid(number)) { return .value(value) }
      last = value
    }
    return last < range.upperBound ? .goOn((last + 1)...range.upperBound) : .missing
  }

  /// The entries of a discovery's response, each with one or two handles and a value.
  static func entries(
    _ pdu: [UInt8], of response: UInt8, atLeast least: Int
  ) -> [ArraySlice<UInt8>]? {
    guard pdu.count > 2, pdu[0] == response else { return nil }
    let size = Int(pdu[1])
    guard size >= least, (pdu.count - 2) % size == 0 else { return nil }
    return stride(from: 2, to: pdu.count, by: size).map { pdu[$0..<$0 + size] }
  }
}
