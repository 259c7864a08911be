// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A platform behind the pointer that the core passes back, and the functions it calls.
final class CorePlatform: Sendable {
  private let platform: any Platform
  private let seconds: (@Sendable () -> UInt32)?

  init(_ platform: some Platform) {
    self.platform = platform
    seconds = platform.seconds
  }

  /// Borrows this object: it must outlive the users of the structure.
  var raw: pfc_platform {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe pfc_platform(
      context: context,
      random: { context, bytes, size in
        unsafe CorePlatform.answer(context) { platform throws(PlatformFailure) in
          var span = unsafe UnsafeMutableBufferPointer(start: bytes, count: size).mutableSpan
          try platform.fillRandom(&span)
        }
      },
      seconds: seconds == nil
        ? nil
        : { context in
          unsafe Unmanaged<CorePlatform>.fromOpaque(context!).takeUnretainedValue().seconds?() ?? 0
        },
      storage: storage(context))
  }

  /// The storage callbacks alone.
  var storage: pfc_storage {
    unsafe storage(Unmanaged.passUnretained(self).toOpaque())
  }

  private func storage(_ context: UnsafeMutableRawPointer) -> pfc_storage {
    unsafe pfc_storage(
      context: context,
      read: { context, record, copy, bytes, size in
        unsafe CorePlatform.answer(context) { platform throws(PlatformFailure) in
          var span = unsafe UnsafeMutableBufferPointer(start: bytes, count: size).mutableSpan
          try platform.read(&span, from: StorageArea(record: Int(record), copy: Int(copy)))
        }
      },
      write: { context, record, copy, bytes, size in
        unsafe CorePlatform.answer(context) { platform throws(PlatformFailure) in
          let span = unsafe UnsafeBufferPointer(start: bytes, count: size).span
          try platform.write(span, to: StorageArea(record: Int(record), copy: Int(copy)))
        }
      })
  }

  /// Turns a platform's result into a callback's: 0, or -1 on failure.
  private static func answer(
    _ context: UnsafeMutableRawPointer?, _ call: (any Platform) throws(PlatformFailure) -> Void
  ) -> Int32 {
    let platform = unsafe Unmanaged<CorePlatform>.fromOpaque(context!).takeUnretainedValue()
    do throws(PlatformFailure) {
      try call(platform.platform)
      return 0
    } catch {
      return -1
    }
  }
}
