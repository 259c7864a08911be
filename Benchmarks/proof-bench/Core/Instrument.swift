// SPDX-License-Identifier: Apache-2.0

import BenchInstruments

/// Tools that count a call from below.
enum Instrument {
  static let markFolder = "/proof-bench-mark"

  /// Calls a body between marks of this name.
  static func window(_ name: String, _ body: () -> Void) {
    unsafe withContext(body) { call, context in unsafe bench_window(name, call, context) }
  }

  /// Bytes of stack that a body takes; nil if they cannot be counted.
  static func stackByteCount(_ body: () -> Void) -> Int? {
    let count = unsafe withContext(body) { call, context in unsafe bench_stack_bytes(call, context)
    }
    return count > 0 ? count : nil
  }

  private static func withContext<Value>(
    _ body: () -> Void, _ use: (bench_body, UnsafeMutableRawPointer) -> Value
  ) -> Value {
    withoutActuallyEscaping(body) { body in
      var box = body
      return unsafe withUnsafeMutablePointer(to: &box) { pointer in
        unsafe use(
          { context in
            unsafe context!.assumingMemoryBound(to: (() -> Void).self).pointee()
          }, UnsafeMutableRawPointer(pointer))
      }
    }
  }
}
