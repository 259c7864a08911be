// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A request that a ``ProtectedClient`` can prove. Adapts the request type of an HTTP client.
public protocol ProvableRequest: Sendable {
  /// The method, such as `POST`, as it will be sent.
  var method: String { get }
  /// The absolute URL, byte for byte as it will be sent.
  var url: String { get }
  /// The coded bytes of the body; nil for none.
  var body: [UInt8]? { get }
  /// Whether the request can be sent twice. False where ``body`` was read from a stream that the HTTP library reads
  /// again: the challenge of such a request is not answered.
  var isRepeatable: Bool { get }
  /// The values of a header field.
  ///
  /// - Parameter name: The name in lower case. The adapter finds it in either case.
  /// - Returns: One value for each line, in order.
  func values(of name: String) -> [String]
  /// Replaces all lines of a header field by one; nil removes them.
  ///
  /// - Parameters:
  ///   - name: The name in lower case.
  ///   - value: The value.
  mutating func set(_ name: String, to value: String?)
}

extension ProvableRequest {
  /// True: ``body`` holds the bytes.
  public var isRepeatable: Bool { true }
}

/// One line of a header.
public struct HeaderField: Sendable, Hashable {
  /// The name, in any case.
  public var name: String
  /// The value.
  public var value: String

  /// Describes a line.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HeaderField] {
  /// The values of a field, whose name is compared without case.
  func values(of name: String) -> [String] {
    filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }
}

/// An HTTP request, for apps that have no type of their own for it.
public struct Request: ProvableRequest, Hashable {
  /// The method, such as `POST`.
  public var method: String
  /// The absolute URL, encoded as it will be sent.
  public var url: String
  /// The header in its order.
  public var fields: [HeaderField]
  /// The body; nil for none.
  public var body: [UInt8]?

  /// Describes a request.
  public init(
    _ method: String = "GET", _ url: String, fields: [HeaderField] = [], body: [UInt8]? = nil
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }

  /// The values of a header field.
  public func values(of name: String) -> [String] { fields.values(of: name) }

  /// Replaces all lines of a header field by one; nil removes them.
  public mutating func set(_ name: String, to value: String?) {
    fields.removeAll { $0.name.lowercased() == name.lowercased() }
    if let value { fields.append(HeaderField(name, value)) }
  }
}

/// The answer to a ``Request``.
public struct Response: Sendable, Hashable {
  /// The HTTP status.
  public let status: Int
  /// The header in its order.
  public let fields: [HeaderField]
  /// The body.
  public let body: [UInt8]

  /// Describes an answer.
  public init(status: Int, fields: [HeaderField] = [], body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The first value of a header field.
  public func value(of name: String) -> String? { fields.values(of: name).first }
}

/// The number of a business event, as the account lists it.
public struct EventID: Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The number.
  public let rawValue: UInt16

  /// Names an event.
  public init(_ number: UInt16) { rawValue = number }

  /// Names an event.
  public init(integerLiteral value: UInt16) { rawValue = value }
}

/// 88 characters of base64url that prove one business event. Make one for each use: it counts once, and for a
/// short time.
public struct EventToken: Sendable, Hashable {
  /// The characters. They are a token in the error state too, so that an app can send one in every
  /// case.
  public let text: String
  /// The reason why the app could prove nothing; nil for a token that counts.
  public let cause: CompactCause?
}
