// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// Remembers passes for a moment, so that a proxy may ask twice about one request.
///
/// nginx asks again when it enters a location by an internal redirect. The proof is used up then, so the gate gives the
/// first answer again: to the same question, line by line, with the same request id of the proxy. The id comes from a
/// field that the proxy overwrites, as `--request-ids` promises: a client that could choose it would have a request
/// count twice.
package final class SecondQuestions: Sendable {
  /// The most answers that are remembered, and the bytes that one may have: 16 MiB together.
  package static let capacity = 4096
  static let byteCountMax = 4096
  /// How long an answer is remembered.
  static let microseconds: UInt64 = 5_000_000
  /// The characters that an id may have.
  private static let lengths = 16...128

  private struct State {
    var answers: [Digest: (answer: ForwardAnswer, until: UInt64)] = [:]
    /// The keys in the order in which they were added.
    var order: [Digest] = []
    var next = 0
  }

  private let capacity: Int
  private let clock: @Sendable () -> UInt64
  private let state = CoreLock(State())

  /// Makes a memory without answers.
  ///
  /// - Parameters:
  ///   - capacity: How many answers it has at most.
  ///   - clock: Microseconds since any moment.
  package init(
    capacity: Int = SecondQuestions.capacity,
    clock: @escaping @Sendable () -> UInt64 = GateLimits.time
  ) {
    self.capacity = capacity
    self.clock = clock
  }

  /// The name of a question: a digest of all its lines, the client's address and the body.
  ///
  /// - Parameters:
  ///   - lines: The lines of the question's header.
  ///   - body: The body, where the proxy hands it over.
  ///   - address: The client's address.
  ///   - style: How the proxy tells about requests.
  /// - Returns: The name; nil for a question without one id of the proxy.
  package static func name(
    of lines: [(name: String, value: String)], _ body: [UInt8]? = nil, from address: String?,
    _ style: ForwardStyle
  ) -> Digest? {
    var id: String?
    var bytes: [UInt8] = []
    for line in lines {
      let name = line.name.lowercased().utf8.map { $0 == 0x5F ? 0x2D : $0 }
      if name.elementsEqual(style.requestID.utf8) {
        guard id == nil else { return nil }
        id = line.value
      }
      append(name, to: &bytes)
      append(Array(line.value.utf8), to: &bytes)
    }
    guard let id, lengths.contains(id.utf8.count) else { return nil }
    append(Array((address ?? "").utf8), to: &bytes)
    // The first judgement compared the body; another body is another question.
    append(body.map { Digest(hashing: $0).bytes } ?? [], to: &bytes)
    return Digest(hashing: bytes)
  }

  private static func append(_ text: [UInt8], to bytes: inout [UInt8]) {
    appendLength(text.count, to: &bytes)
    bytes += text
  }

  /// A length in eight bytes, so that two lists of lines never have the same bytes.
  private static func appendLength(_ count: Int, to bytes: inout [UInt8]) {
    for shift in stride(from: 0, to: 64, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: count >> shift))
    }
  }

  /// The answer to the same question, at most 5 s ago.
  package func answer(to name: Digest) -> ForwardAnswer? {
    let now = clock()
    return state.withLock { state in
      guard let kept = state.answers[name], kept.until >= now else { return nil }
      var answer = kept.answer
      answer.code = "asked-again"
      return answer
    }
  }

  /// Remembers a pass. Other answers are judged again.
  package func keep(_ answer: ForwardAnswer, to name: Digest) {
    let size = answer.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    guard answer.status == 200, answer.handle != nil, size <= Self.byteCountMax else { return }
    let until = clock() + Self.microseconds
    state.withLock { state in
      guard state.answers.updateValue((answer, until), forKey: name) == nil else { return }
      guard state.order.count == capacity else {
        state.order.append(name)
        return
      }
      state.answers[state.order[state.next]] = nil
      state.order[state.next] = name
      state.next = (state.next + 1) % capacity
    }
  }

  /// How many answers are remembered.
  var count: Int { state.withLock { $0.answers.count } }
}
