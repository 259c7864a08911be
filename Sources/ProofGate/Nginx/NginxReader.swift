// SPDX-License-Identifier: Apache-2.0

/// Reads the text of one nginx configuration file, by the rules of nginx's own reader (`ngx_conf_read_token`): words
/// end at a blank, a semicolon or an opening brace, quotes count at the start of a word only, `#` begins a comment
/// where a word could begin, and `${` opens no block. Blocks of Lua code are skipped by Lua's rules.
struct NginxReader {
  /// How deep blocks may be nested.
  static let depthMax = 32
  /// How many directives a file has at most.
  static let countMax = 50_000

  private enum Mark {
    case end, open, close, nothing
  }

  private let bytes: [UInt8]
  private let file: String
  private var index = 0
  private var line = 1
  private var count = 0

  private init(_ bytes: [UInt8], _ file: String) {
    self.bytes = bytes
    self.file = file
  }

  /// Reads a file's directives.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - file: Its name, for messages.
  /// - Returns: The directives in their order.
  /// - Throws: ``NginxSyntaxError`` with the first place that nginx would refuse.
  static func directives(
    of bytes: [UInt8], named file: String
  ) throws(NginxSyntaxError) -> [NginxDirective] {
    var reader = NginxReader(bytes, file)
    return try reader.block(depth: 0)
  }

  // MARK: Blocks

  private mutating func block(depth: Int) throws(NginxSyntaxError) -> [NginxDirective] {
    guard depth <= Self.depthMax else { throw error("blocks are nested too deeply") }
    var found: [NginxDirective] = []
    while true {
      let (words, place, mark) = try words()
      switch mark {
      case .nothing:
        guard depth == 0 else { throw error("the file ends inside a block: \"}\" is missing") }
        return found
      case .close:
        guard depth > 0 else { throw error("unexpected \"}\"") }
        return found
      case .end, .open:
        count += 1
        guard count <= Self.countMax else { throw error("the file has too many directives") }
        var directive = NginxDirective(
          name: words[0], words: Array(words.dropFirst()), block: nil, place: place)
        if mark == .open {
          if directive.name.hasSuffix("_by_lua_block") {
            try skipLua()
            directive.block = []
          } else {
            directive.block = try block(depth: depth + 1)
          }
        }
        found.append(directive)
      }
    }
  }

  // MARK: Words

  /// The words up to a semicolon or brace.
  private mutating func words() throws(NginxSyntaxError) -> (
    [String], NginxDirective.Place, Mark
  ) {
    var words: [String] = []
    var place = here
    while true {
      skipBlanks()
      guard index < bytes.count else {
        guard words.isEmpty else {
          throw error("the file ends inside a directive: \";\" is missing")
        }
        return ([], here, .nothing)
      }
      switch bytes[index] {
      case UInt8(ascii: ";"), UInt8(ascii: "{"):
        guard !words.isEmpty else {
          throw error("unexpected \"\(Character(Unicode.Scalar(bytes[index])))\"")
        }
        index += 1
        return (words, place, bytes[index - 1] == UInt8(ascii: ";") ? .end : .open)
      case UInt8(ascii: "}"):
        guard words.isEmpty else { throw error("unexpected \"}\": \";\" is missing before it") }
        index += 1
        return ([], here, .close)
      default:
        if words.isEmpty { place = here }
        words.append(try word())
      }
    }
  }

  private mutating func word() throws(NginxSyntaxError) -> String {
    let first = bytes[index]
    let start = here
    guard first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") else { return plainWord() }
    index += 1
    var text: [UInt8] = []
    while index < bytes.count, bytes[index] != first { take(into: &text) }
    guard index < bytes.count else {
      throw NginxSyntaxError(place: start, problem: "a quote that begins here does not end")
    }
    index += 1
    // After a quoted word nginx wants a blank, the end, or the parenthesis of an `if`.
    if index < bytes.count, !Self.isBlank(bytes[index]), !";{)".utf8.contains(bytes[index]) {
      throw error("a blank or \";\" is missing after the quoted word")
    }
    return String(decoding: text, as: UTF8.self)
  }

  private mutating func plainWord() -> String {
    var text: [UInt8] = []
    var isVariable = false
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "{"), !isVariable { break }
      if Self.isBlank(byte) || byte == UInt8(ascii: ";") { break }
      isVariable = byte == UInt8(ascii: "$")
      take(into: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Takes one character of a word. A backslash takes the next one as it is; before a quote or another backslash
  /// it is dropped, and before t, r and n the pair stands for a control character.
  private mutating func take(into text: inout [UInt8]) {
    let byte = bytes[index]
    step()
    guard byte == UInt8(ascii: "\\"), index < bytes.count else {
      text.append(byte)
      return
    }
    let next = bytes[index]
    step()
    switch next {
    case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"): text.append(next)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "n"): text.append(0x0A)
    default: text += [byte, next]
    }
  }

  private mutating func skipBlanks() {
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "#") {
        while index < bytes.count, bytes[index] != 0x0A { index += 1 }
      } else if Self.isBlank(bytes[index]) {
        step()
      } else {
        return
      }
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private mutating func step() {
    if bytes[index] == 0x0A { line += 1 }
    index += 1
  }

  private var here: NginxDirective.Place { NginxDirective.Place(file: file, line: line) }

  private func error(_ problem: String) -> NginxSyntaxError {
    NginxSyntaxError(place: here, problem: problem)
  }

  // MARK: Lua

  /// Skips Lua code up to the brace that ends its block. Braces in strings and comments do not count.
  private mutating func skipLua() throws(NginxSyntaxError) {
    var depth = 1
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "}"):
        depth -= 1
        if depth == 0 {
          index += 1
          return
        }
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        skipLuaString(byte)
        continue
      case UInt8(ascii: "["):
        if skipLuaBracket() { continue }
      case UInt8(ascii: "-") where index + 1 < bytes.count && bytes[index + 1] == byte:
        index += 2
        if index < bytes.count, bytes[index] == UInt8(ascii: "["), skipLuaBracket() { continue }
        while index < bytes.count, bytes[index] != 0x0A { index += 1 }
        continue
      default: break
      }
      step()
    }
    throw error("the file ends inside a block of Lua code")
  }

  private mutating func skipLuaString(_ quote: UInt8) {
    index += 1
    while index < bytes.count, bytes[index] != quote, bytes[index] != 0x0A {
      if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
      step()
    }
    if index < bytes.count, bytes[index] == quote { index += 1 }
  }

  /// Skips a text in long brackets, such as `[[…]]` or `[==[…]==]`.
  ///
  /// - Returns: False if none begins here; nothing is skipped then.
  private mutating func skipLuaBracket() -> Bool {
    var next = index + 1
    while next < bytes.count, bytes[next] == UInt8(ascii: "=") { next += 1 }
    guard next < bytes.count, bytes[next] == UInt8(ascii: "[") else { return false }
    let level = next - index - 1
    while index <= next { index += 1 }
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "]") {
        var end = index + 1
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        if end < bytes.count, bytes[end] == UInt8(ascii: "]"), end - index - 1 == level {
          index = end + 1
          return true
        }
      }
      step()
    }
    return true
  }
}
