internal import ProofModel

/// Serialises structured fields in the one form of RFC 8941, section 4.1.
extension StructuredValue {
  func write(to text: inout [UInt8]) {
    switch self {
    case .integer(let value): text += String(value).utf8
    case .decimal(let thousandths):
      let magnitude = thousandths.magnitude
      if thousandths < 0 { text.append(UInt8(ascii: "-")) }
      text += String(magnitude / 1000).utf8
      text.append(UInt8(ascii: "."))
      var places = magnitude % 1000
      var unit: UInt64 = 100
      repeat {
        text.append(UInt8(ascii: "0") + UInt8(places / unit))
        places %= unit
        unit /= 10
      } while places > 0
    case .string(let value):
      text.append(UInt8(ascii: "\""))
      for byte in value.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
          text.append(UInt8(ascii: "\\"))
        }
        text.append(byte)
      }
      text.append(UInt8(ascii: "\""))
    case .token(let value): text += value.utf8
    case .bytes(let value):
      text.append(UInt8(ascii: ":"))
      text += Base64.encode(value).utf8
      text.append(UInt8(ascii: ":"))
    case .boolean(let value): text += (value ? "?1" : "?0").utf8
    }
  }
}

extension StructuredParameters {
  func write(to text: inout [UInt8]) {
    for element in elements {
      text.append(UInt8(ascii: ";"))
      text += element.key.utf8
      if element.value == .boolean(true) { continue }
      text.append(UInt8(ascii: "="))
      element.value.write(to: &text)
    }
  }
}

extension StructuredItem {
  func write(to text: inout [UInt8]) {
    value.write(to: &text)
    parameters.write(to: &text)
  }
}

extension StructuredMember {
  func write(to text: inout [UInt8]) {
    switch self {
    case .item(let item): item.write(to: &text)
    case .list(let items, let parameters):
      text.append(UInt8(ascii: "("))
      for (index, item) in items.enumerated() {
        if index > 0 { text.append(0x20) }
        item.write(to: &text)
      }
      text.append(UInt8(ascii: ")"))
      parameters.write(to: &text)
    }
  }
}

extension StructuredDictionary {
  func write(to text: inout [UInt8]) {
    for (index, element) in elements.enumerated() {
      if index > 0 { text += ", ".utf8 }
      text += element.key.utf8
      if case .item(let item) = element.member, item.value == .boolean(true) {
        item.parameters.write(to: &text)
        continue
      }
      text.append(UInt8(ascii: "="))
      element.member.write(to: &text)
    }
  }
}
