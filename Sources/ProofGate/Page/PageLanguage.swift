// SPDX-License-Identifier: Apache-2.0

/// A language of the page. Unknown languages get English.
enum PageLanguage: String, Sendable, CaseIterable {
  case english = "en"
  case chinese = "zh"
  case german = "de"
  case french = "fr"
  case spanish = "es"
  case arabic = "ar"

  /// `ltr` or `rtl`.
  var direction: String { self == .arabic ? "rtl" : "ltr" }

  /// The language of a tag such as `zh-Hans-CN`; `cn` stands for Chinese. Nil for one that the page has not.
  init?(tag: Substring) {
    let first = tag.prefix { $0 != "-" && $0 != "_" }.lowercased()
    self.init(rawValue: first == "cn" ? "zh" : first)
  }

  /// The language for a wish in the query, else for the field `Accept-Language` (RFC 9110, 12.5.4).
  init(wish: String?, accepted: String?) {
    if let found = wish.flatMap({ PageLanguage(tag: $0[...]) }) {
      self = found
      return
    }
    var best: (language: PageLanguage, weight: Int)?
    // The rest of a longer list is not looked at.
    for item in (accepted ?? "").split(separator: ",").prefix(16) {
      let parts = item.split(separator: ";")
      guard let tag = parts.first, let found = PageLanguage(tag: Self.trimmed(tag)) else {
        continue
      }
      let weight = parts.dropFirst().first.map { Self.weight(Self.trimmed($0)) } ?? 1000
      if weight > best?.weight ?? 0 { best = (found, weight) }
    }
    self = best?.language ?? .english
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop { $0 == " " || $0 == "\t" }
    return start.prefix { $0 != " " && $0 != "\t" }
  }

  /// Thousandths of a text such as `q=0.8`; 0 for any other text.
  private static func weight(_ text: Substring) -> Int {
    let digits = text.utf8.dropFirst(2)
    guard text.utf8.starts(with: "q=".utf8), let first = digits.first, digits.count <= 5,
      digits.dropFirst().first ?? UInt8(ascii: ".") == UInt8(ascii: ".")
    else { return 0 }
    if first == UInt8(ascii: "1") { return 1000 }
    let decimals = digits.dropFirst(2).map { Int($0) - 48 }
    guard first == UInt8(ascii: "0"), decimals.allSatisfy({ (0...9).contains($0) }) else {
      return 0
    }
    return (decimals + [0, 0, 0]).prefix(3).reduce(0) { $0 * 10 + $1 }
  }
}
