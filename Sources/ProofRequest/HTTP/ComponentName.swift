// SPDX-License-Identifier: Apache-2.0

/// The header fields and derived components that this module looks for, as numbers.
///
/// A name is compared once, when it is read. All other names have the number ``other``.
enum ComponentName: UInt8, Sendable, Hashable {
  case other
  case authorization, contentType, methodOverride, account, contentDigest
  case contentLength, transferEncoding, host, signatureInput, signature
  case method, authority, path, query, scheme, requestTarget, targetURI, queryParameter

  /// The beginning of the component's line in a signature base: the name in quotes, a colon and a space.
  var line: StaticString {
    switch self {
    case .other: "\"\": "
    case .authorization: "\"authorization\": "
    case .contentType: "\"content-type\": "
    case .methodOverride: "\"x-http-method-override\": "
    case .account: "\"proof-account\": "
    case .contentDigest: "\"content-digest\": "
    case .contentLength: "\"content-length\": "
    case .transferEncoding: "\"transfer-encoding\": "
    case .host: "\"host\": "
    case .signatureInput: "\"signature-input\": "
    case .signature: "\"signature\": "
    case .method: "\"@method\": "
    case .authority: "\"@authority\": "
    case .path: "\"@path\": "
    case .query: "\"@query\": "
    case .scheme: "\"@scheme\": "
    case .requestTarget: "\"@request-target\": "
    case .targetURI: "\"@target-uri\": "
    case .queryParameter: "\"@query-param\": "
    }
  }

  /// Whether the name is a derived component's and not a field's.
  var isDerived: Bool { rawValue >= ComponentName.method.rawValue }

  /// The number of a name in lower case, without quotes.
  init(_ name: Span<UInt8>) {
    let (one, other) = Self.candidates(of: name.count)
    self =
      name.isName(ofLine: one.line) ? one : name.isName(ofLine: other.line) ? other : .other
  }

  /// The names of one length: two at most.
  private static func candidates(of count: Int) -> (ComponentName, ComponentName) {
    switch count {
    case 4: (.host, .other)
    case 5: (.path, .other)
    case 6: (.query, .other)
    case 7: (.method, .scheme)
    case 9: (.signature, .other)
    case 10: (.authority, .other)
    case 11: (.targetURI, .other)
    case 12: (.contentType, .queryParameter)
    case 13: (.authorization, .account)
    case 14: (.contentDigest, .contentLength)
    case 15: (.signatureInput, .requestTarget)
    case 17: (.transferEncoding, .other)
    case 22: (.methodOverride, .other)
    default: (.other, .other)
    }
  }
}

/// A set of known components.
struct ComponentSet: OptionSet, Sendable, Hashable {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }
  init(_ names: ComponentName...) {
    self.init(rawValue: names.reduce(0) { $0 | 1 << UInt32($1.rawValue) })
  }

  /// Whether a known component is a member; never for `other`.
  func has(_ name: ComponentName) -> Bool { rawValue & Self.bit(name) != 0 }

  mutating func add(_ name: ComponentName) { self = Self(rawValue: rawValue | Self.bit(name)) }

  mutating func drop(_ name: ComponentName) { self = Self(rawValue: rawValue & ~Self.bit(name)) }

  private static func bit(_ name: ComponentName) -> UInt32 {
    name == .other ? 0 : 1 << UInt32(name.rawValue)
  }
}
