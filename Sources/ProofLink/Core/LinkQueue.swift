internal import Dispatch

/// Runs an actor on a queue of its own, so that measuring holds up no other task.
final class LinkQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "ProofLink.HardwareConnection")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// Runs one link's task on a queue of its own: what comes from the hardware waits for no other task,
/// even if tasks hold all the threads they share.
final class LinkTaskQueue: TaskExecutor {
  private let queue = DispatchQueue(label: "ProofLink.ConnectionLink")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
