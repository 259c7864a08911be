// SPDX-License-Identifier: Apache-2.0

/// Runs the tasks that prefer it on threads of the library.
///
/// A caller that blocks a thread of Swift's shared pool until a task ends would wait for ever if the task needed that
/// thread.
final class CoreExecutor: TaskExecutor {
  static let shared = CoreExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    CorePool.pages.run { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
