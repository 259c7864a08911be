// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

extension JSONIndex {
  /// Parses a text completely: UTF-8, one value, white space around it, nothing else.
  init(
    parsing text: Span<UInt8>, bytesMax: Int = JOSELimits.jsonBytes,
    valuesMax: Int = JOSELimits.jsonValues
  ) throws(JSONError) {
    do throws(JSONFault) {
      try self.init(
        parsing: text,
        within: JSONLimits(
          depth: JOSELimits.jsonDepth, bytes: bytesMax, values: valuesMax,
          numberCharacters: JOSELimits.numberCharacters))
    } catch { throw JSONError(error) }
  }

  /// The characters of a number.
  func number(at node: Int, in text: Span<UInt8>) -> JSONNumber {
    JSONNumber(checked: spelling(at: node, in: text))
  }

  /// Decodes a base64 string of exactly as many bytes as the range has, in place.
  func decodeBase64(
    at node: Int, in text: Span<UInt8>, _ alphabet: Base64Alphabet,
    into bytes: inout MutableSpan<UInt8>, _ range: Range<Int>
  ) -> Bool {
    guard nodes[node].kind == .string else { return false }
    var decoder = Base64Decoder(alphabet, into: range)
    var cursor = JSONStringCursor(nodes[node])
    while let character = cursor.next(in: text) { decoder.take(character, into: &bytes) }
    return decoder.isComplete
  }
}

extension JSONError {
  init(_ fault: JSONFault) {
    let reason: Reason =
      switch fault.reason {
      case .notUTF8: .notUTF8
      case .ended: .ended
      case .unexpected: .unexpected
      case .badNumber: .badNumber
      case .badString: .badString
      case .repeatedMember: .repeatedMember
      case .trailing: .trailing
      case .tooDeep: .tooDeep
      case .tooLarge: .tooLarge
      }
    self.init(reason: reason, offset: fault.offset)
  }
}
