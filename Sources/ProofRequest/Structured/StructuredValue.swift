/// A bare item of RFC 8941, section 3.3.
public enum StructuredValue: Sendable, Hashable {
  /// At most 15 digits.
  case integer(Int64)
  /// A number with one to three digits behind the point, in thousandths.
  case decimal(thousandths: Int64)
  /// Printable ASCII in quotes.
  case string(String)
  /// A word without quotes, such as `hmac-sha256`.
  case token(String)
  /// Base64 between colons.
  case bytes([UInt8])
  /// `?0` or `?1`; a key without a value stands for `?1`.
  case boolean(Bool)
}

/// A list of keys and values in their order, each key once.
public struct StructuredParameters: Sendable, Hashable {
  /// One key with its value.
  public struct Element: Sendable, Hashable {
    /// Lower-case letters, digits, `_`, `-`, `.` and `*`.
    public let key: String
    /// The value.
    public let value: StructuredValue
  }

  /// The parameters in the order in which they stand in the field.
  public private(set) var elements: [Element] = []

  /// No parameters.
  public init() {}

  /// The value of a key, or nil.
  public subscript(key: String) -> StructuredValue? {
    elements.first { $0.key == key }?.value
  }

  /// Adds a parameter behind the others. Returns false if the key is there already.
  mutating func append(_ key: String, _ value: StructuredValue) -> Bool {
    guard self[key] == nil else { return false }
    elements.append(Element(key: key, value: value))
    return true
  }
}

/// A bare item with its parameters.
public struct StructuredItem: Sendable, Hashable {
  /// The value.
  public let value: StructuredValue
  /// The parameters behind the value.
  public let parameters: StructuredParameters
}

/// One member of a dictionary: an item, or a list of items in parentheses.
public enum StructuredMember: Sendable, Hashable {
  /// An item with its parameters.
  case item(StructuredItem)
  /// A list in parentheses with its parameters.
  case list([StructuredItem], StructuredParameters)
}

/// A dictionary of RFC 8941, section 3.2, in its order, each key once.
public struct StructuredDictionary: Sendable, Hashable {
  /// One key with its member.
  public struct Element: Sendable, Hashable {
    /// Lower-case letters, digits, `_`, `-`, `.` and `*`.
    public let key: String
    /// The member.
    public let member: StructuredMember
  }

  /// The members in the order in which they stand in the field.
  public private(set) var elements: [Element] = []

  /// An empty dictionary.
  public init() {}

  /// The member of a key, or nil.
  public subscript(key: String) -> StructuredMember? {
    elements.first { $0.key == key }?.member
  }

  mutating func append(_ key: String, _ member: StructuredMember) -> Bool {
    guard self[key] == nil else { return false }
    elements.append(Element(key: key, member: member))
    return true
  }
}
