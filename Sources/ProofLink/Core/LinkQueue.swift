// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Runs an actor on a queue of its own, so that measuring holds up no other task.
final class LinkQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "ProofLink.HardwareConnection")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Runs tasks on a queue of its own: a link's, or those of calls. Received PDUs are then handled
/// even if other tasks hold all threads of the shared pool.
final class LinkTaskQueue: TaskExecutor {
  private let queue = DispatchQueue(label: "ProofLink.LinkTaskQueue")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
