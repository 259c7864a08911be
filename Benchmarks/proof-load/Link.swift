// SPDX-License-Identifier: Apache-2.0

internal import LoadLink

/// One kept-alive connection of the load generator.
@safe
final class Link {
  /// Why there is no answer.
  enum Failure: Error, Hashable {
    /// No connection, or it broke.
    case connection
    /// The answer is no HTTP.
    case answer
    /// Another status than 200.
    case status(Int)

    /// Whether the same request may be answered later.
    var mayPass: Bool {
      switch self {
      case .connection, .answer: true
      case .status(let status): status >= 500
      }
    }
  }

  private let link: OpaquePointer

  /// `nil` if the address is none, or the authority's file cannot be used.
  init?(_ options: LoadOptions) {
    guard let link = unsafe load_link_new(options.address, options.port, options.authority)
    else { return nil }
    unsafe self.link = link
  }

  deinit { unsafe load_link_free(link) }

  var opened: Int { Int(unsafe load_link_opened(link)) }

  /// Sends a body and receives the answer's.
  ///
  /// - Parameters:
  ///   - body: What to send.
  ///   - path: Where.
  ///   - device: Whose address to claim, for a service that trusts us as its proxy.
  /// - Returns: The answer's body.
  /// - Throws: Why there is none.
  func post(_ body: [UInt8], to path: String, for device: Int) throws(Failure) -> [UInt8] {
    let address = "10.\(device >> 16 & 255).\(device >> 8 & 255).\(device & 255)"
    let head =
      "POST \(path) HTTP/1.1\r\nHost: service\r\nContent-Type: application/octet-stream\r\n"
      + "X-Forwarded-For: \(address)\r\nContent-Length: \(body.count)\r\n\r\n"
    let request = Array(head.utf8) + body
    var status: UInt32 = 0
    var answer: UnsafePointer<UInt8>?
    var count = 0
    switch unsafe load_link_exchange(link, request, request.count, &status, &answer, &count) {
    case Int32(LOAD_OK): break
    case Int32(LOAD_E_ANSWER): throw .answer
    default: throw .connection
    }
    guard status == 200 else { throw .status(Int(status)) }
    return unsafe Array(UnsafeBufferPointer(start: answer, count: count))
  }

  static func pause(milliseconds: UInt32) { load_pause(milliseconds) }

  /// The monotonic clock, as other programs of this machine read it.
  static var monotonicMilliseconds: UInt64 { load_monotonic_milliseconds() }

  static var processorSeconds: Double { load_processor_seconds() }

  /// Runs a closure on so many threads, and returns when all have ended.
  static func onThreads(_ count: Int, _ body: @Sendable (Int) -> Void) {
    withoutActuallyEscaping(body) { body in
      let box = unsafe Unmanaged.passRetained(Box(body))
      defer { unsafe box.release() }
      let isComplete = unsafe load_run(
        UInt32(count),
        { context, index in
          guard let context = unsafe context else { return }
          unsafe Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().body(Int(index))
        }, box.toOpaque())
      precondition(isComplete == 1, "the system has no threads left")
    }
  }

  private final class Box: Sendable {
    let body: @Sendable (Int) -> Void
    init(_ body: @escaping @Sendable (Int) -> Void) { self.body = body }
  }
}
