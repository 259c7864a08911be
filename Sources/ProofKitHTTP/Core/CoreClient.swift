// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import ProofKit
internal import ProofModel

/// Owns one connection of libcurl. One thread at a time sends with it.
@safe
final class CoreClient: @unchecked Sendable {
  // Sendable because the pool lends it to one thread at a time, and any thread may cancel.
  private let client: OpaquePointer

  init?(authorities: String?, allowsPlain: Bool, connectTimeout: Duration) {
    let made: OpaquePointer? = unsafe Self.withString(authorities) { authorities in
      var options = unsafe phc_options()
      unsafe options.authorities = authorities
      unsafe options.allows_plain = allowsPlain ? 1 : 0
      unsafe options.connect_timeout_ms = connectTimeout.wholeMilliseconds
      return unsafe phc_client_create(&options)
    }
    guard let made = unsafe made else { return nil }
    unsafe client = made
  }

  deinit { unsafe phc_client_free(client) }

  /// The number of connections made so far.
  var connectionCount: Int { unsafe phc_client_connections(client) }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    unsafe phc_client_rearm(client)
    return try request.cancellation.withHandler(
      { unsafe phc_client_cancel(self.client) }, { () throws(TransportError) in try run(request) })
  }

  private func run(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let pins =
      request.pins.isEmpty
      ? nil : request.pins.map { "sha256//" + $0 }.joined(separator: ";")
    var answer = unsafe phc_answer()
    let result = unsafe request.url.withCString { url in
      unsafe Self.withString(pins) { pins in
        unsafe Self.withString(request.authorization) { authorization in
          unsafe Self.withBytes(request.body) { body in
            unsafe Self.withString(request.method) { method in
              unsafe Self.withString(request.connectHost) { connectHost in
                unsafe Self.withLines(request.fields) { fields in
                  var own = unsafe phc_request()
                  unsafe own.url = url
                  unsafe own.connect_host = connectHost
                  unsafe own.family = request.addressFamily.number
                  unsafe own.pins = pins
                  unsafe own.authorization = authorization
                  unsafe own.method = method
                  unsafe own.fields = fields?.baseAddress
                  unsafe own.field_count = fields?.count ?? 0
                  unsafe own.body = body.baseAddress
                  unsafe own.body_size = body.count
                  unsafe own.timeout_ms = request.timeout.wholeMilliseconds
                  unsafe own.answer_limit = request.responseLimit
                  return unsafe phc_client_send(&answer, client, &own)
                }
              }
            }
          }
        }
      }
    }
    let words = unsafe withUnsafeBytes(of: answer.words) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    switch result {
    case PHC_OK: break
    case PHC_E_UNREACHABLE: throw .unreachable(words)
    case PHC_E_TIMED_OUT: throw .timedOut(words)
    case PHC_E_BROKEN_OFF: throw .brokenOff(words)
    case PHC_E_UNTRUSTED: throw .untrusted(words)
    case PHC_E_GARBLED: throw .garbled(words)
    case PHC_E_CANCELLED: throw .cancelled
    default: throw .refused(words)
    }
    let body = unsafe Array(UnsafeBufferPointer(start: answer.body, count: answer.body_size))
    return unsafe TransportResponse(
      status: answer.status, body: body,
      serverTime: answer.server_time < 0 ? nil : UnixTime(seconds: answer.server_time),
      fields: Self.fields(UnsafeRawBufferPointer(start: answer.head, count: answer.head_size)))
  }

  /// Names and values in turn, each with a zero at its end.
  private static func fields(_ head: UnsafeRawBufferPointer) -> [HeaderField] {
    let texts = unsafe head.split(separator: 0, omittingEmptySubsequences: false).map { text in
      unsafe String(decoding: text, as: UTF8.self)
    }
    return stride(from: 0, to: texts.count - 1, by: 2).map {
      HeaderField(texts[$0], texts[$0 + 1])
    }
  }

  /// Lines of a header, or NULL. libcurl sends a field without value where it has a semicolon for the colon.
  private static func withLines<Value>(
    _ fields: [HeaderField]?,
    _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>?) -> Value
  ) -> Value {
    guard let fields else { return body(nil) }
    let lines = fields.map { field in
      Array((field.value.isEmpty ? field.name + ";" : field.name + ": " + field.value).utf8CString)
    }
    let joined = lines.flatMap(\.self)
    return unsafe joined.withUnsafeBufferPointer { bytes in
      var addresses: [UnsafePointer<CChar>?] = unsafe []
      var offset = 0
      for line in lines {
        unsafe addresses.append(bytes.baseAddress! + offset)
        offset += line.count
      }
      // One more than there are, so that an empty header has an address too.
      unsafe addresses.append(nil)
      return unsafe addresses.withUnsafeBufferPointer { addresses in
        unsafe body(UnsafeBufferPointer(rebasing: addresses.dropLast()))
      }
    }
  }

  private static func withString<Value>(
    _ string: String?, _ body: (UnsafePointer<CChar>?) -> Value
  ) -> Value {
    guard let string else { return body(nil) }
    return unsafe string.withCString { unsafe body($0) }
  }

  /// Lends the body. An empty body of a POST needs an address too, or it would be sent as a GET.
  private static func withBytes<Value>(
    _ bytes: [UInt8]?, _ body: (UnsafeBufferPointer<UInt8>) -> Value
  ) -> Value {
    guard let bytes else { return unsafe body(UnsafeBufferPointer(start: nil, count: 0)) }
    return unsafe (bytes + [0]).withUnsafeBufferPointer { padded in
      unsafe body(UnsafeBufferPointer(rebasing: padded.dropLast()))
    }
  }
}

extension AddressFamily {
  fileprivate var number: Int32 {
    switch self {
    case .any: 0
    case .v4: 4
    case .v6: 6
    }
  }
}

extension Duration {
  /// Whole milliseconds, at least 1, because 0 means no limit to libcurl.
  fileprivate var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    return Int(max(1, min(seconds, 86_400) * 1000 + attoseconds / 1_000_000_000_000_000))
  }
}
