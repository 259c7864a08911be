// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD

/// Converts requests of the C server to values, and answers back.
enum CoreRequest {
  static func respond(
    to request: UnsafePointer<pfh_request>, with response: OpaquePointer?,
    answer: (HTTPRequest) -> HTTPResponse
  ) {
    if let request = unsafe value(of: request) {
      unsafe set(answer(request), on: response)
    } else {
      unsafe set(
        HTTPResponse(status: 400, text: "the request's address or headers are no text"),
        on: response)
    }
  }

  /// `nil` if the path or the query is not percent-encoded UTF-8.
  private static func value(of request: UnsafePointer<pfh_request>) -> HTTPRequest? {
    guard let path = unsafe PercentEncoding.decodedPath(bytes(request.pointee.path)) else {
      return nil
    }
    var query: [String: String] = [:]
    let isRead = unsafe eachField(request.pointee.query, request.pointee.query_count) {
      name, value in
      guard let name = PercentEncoding.decoded(name), let value = PercentEncoding.decoded(value)
      else { return false }
      query[name] = value
      return true
    }
    guard isRead else { return nil }
    var headers: [String: String] = [:]
    var fields: [HTTPField] = []
    let isText = unsafe eachField(request.pointee.headers, request.pointee.header_count) {
      name, value in
      guard let sent = String(validating: name, as: UTF8.self),
        let value = String(validating: value, as: UTF8.self)
      else { return false }
      fields.append(HTTPField(sent, value))
      let name = sent.lowercased()
      headers[name] = headers[name].map { $0 + "," + value } ?? value
      return true
    }
    guard isText,
      let target = unsafe String(validating: bytes(request.pointee.target), as: UTF8.self)
    else { return nil }
    let body = unsafe UnsafeBufferPointer(
      start: request.pointee.body, count: request.pointee.body_size)
    return unsafe HTTPRequest(
      method: String(cString: request.pointee.method), path: path, target: target, query: query,
      headers: headers, fields: fields, body: Array(body),
      peer: String(cString: request.pointee.peer))
  }

  /// Passes the names and values of a C array of fields to a closure, until it returns `false`.
  private static func eachField<Fields>(
    _ fields: Fields, _ count: Int, _ take: ([UInt8], [UInt8]) -> Bool
  ) -> Bool {
    unsafe withUnsafeBytes(of: fields) { memory in
      let fields = unsafe memory.bindMemory(to: pfh_field.self)
      for index in 0..<count {
        let field = unsafe fields[index]
        guard
          unsafe take(
            bytes(field.name, field.name_size), bytes(field.value, field.value_size))
        else { return false }
      }
      return true
    }
  }

  private static func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8] {
    guard let text = unsafe text else { return [] }
    return unsafe Array(String(cString: text).utf8)
  }

  private static func bytes(_ text: UnsafePointer<CChar>?, _ count: Int) -> [UInt8] {
    unsafe UnsafeBufferPointer(start: text, count: text == nil ? 0 : count).map {
      UInt8(bitPattern: $0)
    }
  }

  /// Sets the answer. If the answer cannot be sent, leaves it unset, and the C server answers 500.
  private static func set(_ value: HTTPResponse, on response: OpaquePointer?) {
    guard let status = UInt32(exactly: value.status),
      unsafe pfh_response_set(response, status, value.body, value.body.count) == 1
    else { return }
    for (name, text) in value.headers {
      // Leaves out a header with a line break: it would let an attacker inject further headers.
      _ = unsafe pfh_response_header(response, name, text)
    }
  }
}
