// SPDX-License-Identifier: Apache-2.0

private import Dispatch

/// Commits a row once a second, so that a reading of a replica tells how old it is.
///
/// The age of a reading is the time since the newest row of this kind that the replica has. An idle account would look
/// old without them.
///
/// `@unchecked Sendable` because the timer is set up before it is shared, and only cancelled afterwards.
final class Heartbeat: @unchecked Sendable {
  private let timer: any DispatchSourceTimer

  /// - Parameter beat: Commits the row. It ends, and one call at a time is made.
  init(_ beat: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "heartbeat", qos: .utility))
    timer.setEventHandler(handler: beat)
    timer.schedule(deadline: .now(), repeating: .seconds(1), leeway: .milliseconds(100))
    timer.resume()
  }

  deinit { timer.cancel() }
}
