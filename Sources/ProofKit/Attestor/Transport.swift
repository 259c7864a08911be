// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Carries requests to the attestation service.
///
/// `ProofKitHTTP` has one over libcurl. A transport trusts only a peer whose certificate it can
/// verify and, where pins are given, whose key is one of them. It sends nothing to any other peer.
public protocol Transport: Sendable {
  /// Sends one request and waits for its answer, on a thread that may block. Called from several
  /// threads at once.
  ///
  /// - Parameter request: The request, its address, and the time it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``TransportError``, the reason why there is no answer.
  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse
}

/// One request to the service.
public struct TransportRequest: Sendable {
  /// The address: scheme, host, port and path.
  public let url: String
  /// The body of a POST; nil for a GET, unless ``method`` says otherwise.
  public let body: [UInt8]?
  /// The method; nil for a GET or a POST, as the attestation needs them.
  public var method: String?
  /// The header of a request to an app's own API; nil for that of the attestation. No other field but `Host`,
  /// `Accept`, `User-Agent` and `Content-Length` is sent beside it.
  public var fields: [HeaderField]?
  /// The keys that the service may have: base64 of SHA-256 of SubjectPublicKeyInfo. Empty means any
  /// key with a valid certificate.
  public let pins: [String]
  /// The value of the field `Authorization`; nil for none. Attestation needs none; tools need one.
  public var authorization: String?
  /// The IP versions that the connection may use.
  public var addressFamily = AddressFamily.any
  /// The host or address to connect to in place of the URL's host; nil for that one. The certificate
  /// must still have the URL's host, and the request names it.
  public var connectHost: String?
  /// The time limit of the whole request.
  public let timeout: Duration
  /// The size limit of the answer, in bytes. A longer answer is refused.
  public let responseLimit: Int
  /// Ends the request early.
  public let cancellation: Cancellation

  /// Describes a request.
  public init(
    url: String, body: [UInt8]? = nil, pins: [String] = [], timeout: Duration,
    responseLimit: Int = 1 << 20, cancellation: Cancellation = Cancellation()
  ) {
    self.url = url
    self.body = body
    self.pins = pins
    self.timeout = timeout
    self.responseLimit = responseLimit
    self.cancellation = cancellation
  }
}

/// The service's answer.
public struct TransportResponse: Sendable, Hashable {
  /// The HTTP status.
  public let status: Int
  /// The body, at most as long as the request allowed.
  public let body: [UInt8]
  /// The time in the answer's `Date` field; nil if it has none.
  public let serverTime: UnixTime?
  /// The header; empty for an answer to a request without ``TransportRequest/fields``.
  public let fields: [HeaderField]

  /// Describes an answer.
  public init(
    status: Int, body: [UInt8], serverTime: UnixTime? = nil, fields: [HeaderField] = []
  ) {
    self.status = status
    self.body = body
    self.serverTime = serverTime
    self.fields = fields
  }
}

/// The reason why there is no answer. The words are for people.
public enum TransportError: Error, Sendable, Hashable {
  /// The name does not resolve, or the connection is refused.
  case unreachable(String)
  /// The time limit passed.
  case timedOut(String)
  /// The connection ended before the answer did.
  case brokenOff(String)
  /// The peer's certificate or key is not an expected one. The request was not sent to it.
  case untrusted(String)
  /// The peer does not speak HTTP, or its answer exceeds the limit.
  case garbled(String)
  /// The request's ``Cancellation`` was cancelled.
  case cancelled
  /// The request or the transport's set-up is invalid: a defect of this side.
  case refused(String)
}

extension TransportError: CustomStringConvertible {
  /// The failure, as text.
  public var description: String {
    switch self {
    case .unreachable(let words): "the service cannot be reached: \(words)"
    case .timedOut(let words): "the service does not answer in time: \(words)"
    case .brokenOff(let words): "the connection broke off: \(words)"
    case .untrusted(let words): "the peer is not the service: \(words)"
    case .garbled(let words): "the answer makes no sense: \(words)"
    case .cancelled: "cancelled"
    case .refused(let words): "the request cannot be made: \(words)"
    }
  }
}

/// Cancels a request whose caller does not wait for it any more.
public final class Cancellation: Sendable {
  private struct State {
    var isCancelled = false
    var handlers: [UInt64: @Sendable () -> Void] = [:]
    var next: UInt64 = 0
  }

  private let state = CoreLock(State())

  /// Makes one that is not cancelled yet.
  public init() {}

  /// Whether it was cancelled.
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Cancels the request, for good.
  public func cancel() {
    // Call handlers under the lock, so that no handler runs after its body has ended.
    state.withLock { state in
      state.isCancelled = true
      for handler in state.handlers.values { handler() }
      state.handlers = [:]
    }
  }

  /// Runs a body, and `onCancel` at once if it is cancelled before the body ends.
  ///
  /// - Parameters:
  ///   - onCancel: Called at most once, on any thread, perhaps while `body` runs; never after it.
  ///     It must be short and must not use this object.
  ///   - body: The work that a cancellation may cut short.
  /// - Returns: The result of the body.
  /// - Throws: The error of the body.
  public func withHandler<Value, Failure: Error>(
    _ onCancel: @escaping @Sendable () -> Void, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let id: UInt64? = state.withLock { state in
      guard !state.isCancelled else { return nil }
      state.next += 1
      state.handlers[state.next] = onCancel
      return state.next
    }
    if id == nil { onCancel() }
    defer { if let id { state.withLock { _ = $0.handlers.removeValue(forKey: id) } } }
    return try body()
  }
}
