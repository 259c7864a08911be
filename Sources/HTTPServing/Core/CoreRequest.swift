// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import Glibc
internal import ProofModel

/// Converts requests of the C server to values, and answers back.
enum CoreRequest {
  static func respond(
    to request: UnsafePointer<pfh_request>, with response: OpaquePointer,
    answer: (HTTPRequest) -> HTTPAnswer
  ) {
    if let request = unsafe value(of: request) {
      unsafe give(answer(request), to: response)
    } else {
      unsafe set(
        HTTPResponse(status: 400, text: "the request's address or headers are no text"),
        on: response)
    }
  }

  /// Sets the response, or puts it off.
  fileprivate static func give(_ answer: HTTPAnswer, to response: OpaquePointer) {
    switch answer {
    case .now(let value): unsafe set(value, on: response)
    case .later(let wait):
      let work = unsafe Unmanaged.passRetained(PutOff(wait.finish))
      unsafe pfh_response_put_off(response, resume, work.toOpaque())
      let sleeper = unsafe Sleeper(response)
      wait.begin { sleeper.wake() }
    }
  }

  /// `nil` if the path or the query is not percent-encoded UTF-8.
  private static func value(of request: UnsafePointer<pfh_request>) -> HTTPRequest? {
    guard let sent = unsafe request.pointee.path, let method = unsafe request.pointee.method,
      let peer = unsafe request.pointee.peer, let target = unsafe request.pointee.target,
      let path = unsafe PercentEncoding.decodedPath(text(sent)),
      let target = unsafe string(text(target))
    else { return nil }
    var query: [String: String] = [:]
    let pairs = unsafe UnsafeBufferPointer(
      start: request.pointee.query, count: request.pointee.query_count)
    for index in pairs.indices {
      let field = unsafe pairs[index]
      guard let name = unsafe PercentEncoding.decoded(text(field.name, field.name_size)),
        let value = unsafe PercentEncoding.decoded(text(field.value, field.value_size))
      else { return nil }
      query[name] = value
    }
    var fields: [HTTPField] = []
    let lines = unsafe UnsafeBufferPointer(
      start: request.pointee.headers, count: request.pointee.header_count)
    fields.reserveCapacity(lines.count)
    for index in lines.indices {
      let field = unsafe lines[index]
      guard
        let name = unsafe string(text(field.name, field.name_size)),
        let value = unsafe string(text(field.value, field.value_size))
      else { return nil }
      fields.append(HTTPField(name, value))
    }
    let body = unsafe UnsafeBufferPointer(
      start: request.pointee.body, count: request.pointee.body_size)
    return unsafe HTTPRequest(
      method: String(cString: method), path: path, target: target, query: query, fields: fields,
      body: Array(body), peer: String(cString: peer))
  }

  private static func string(_ bytes: UnsafeRawBufferPointer) -> String? {
    unsafe String(utf8: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
  }

  /// The bytes of a text. They are read while the request is answered.
  private static func text(_ start: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: start, count: strlen(start))
  }

  private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
  }

  /// Sets the answer. If the answer cannot be sent, leaves it unset, and the C server answers 500.
  private static func set(_ value: HTTPResponse, on response: OpaquePointer) {
    guard let status = UInt32(exactly: value.status),
      unsafe pfh_response_set(response, status, value.body, value.body.count) == 1
    else { return }
    for (name, text) in value.headers {
      // Leaves out a header with a line break: it would let an attacker inject further headers.
      _ = unsafe pfh_response_header(response, name, text)
    }
  }
}

/// The rest of an answer that was put off. The C server holds it until it resumes.
private final class PutOff: Sendable {
  let finish: @Sendable () -> HTTPAnswer

  init(_ finish: @escaping @Sendable () -> HTTPAnswer) { self.finish = finish }
}

/// A response of the C server that was put off, to be woken once.
@safe
private struct Sleeper: Sendable {
  // The C server's function may be called from any thread.
  private nonisolated(unsafe) let response: OpaquePointer

  init(_ response: OpaquePointer) { unsafe self.response = response }

  func wake() { unsafe pfh_response_wake(response) }
}

/// The C server's callback for an answer that was woken, on one of its threads.
private func resume(work: UnsafeMutableRawPointer?, response: OpaquePointer?) {
  guard let work = unsafe work else { return }
  let putOff = unsafe Unmanaged<PutOff>.fromOpaque(work).takeRetainedValue()
  let answer = putOff.finish()
  if let response = unsafe response {
    unsafe CoreRequest.give(answer, to: response)
  } else {
    // The client has gone. The rest of the work is done without a reader.
    _ = answer.response()
  }
}
