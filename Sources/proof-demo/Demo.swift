// SPDX-License-Identifier: Apache-2.0

import Console

/// Runs the demonstration: sets it up, plays its acts, and cleans up.
struct Demo {
  private let options: DemoOptions

  init(_ options: DemoOptions) { self.options = options }

  /// Runs it. Ends the process with 0 if every line ended as it must.
  func run() -> Never {
    let narrator = Narrator(options)
    let cast: Cast
    do {
      cast = try Cast(keeping: options.prepared)
    } catch {
      Terminal.complain("proof-demo: \(error)")
      Terminal.end(2)
    }
    narrator.isInterrupted = { cast.interruption.signal != nil }
    var failure: (any Error)?
    do {
      try play(cast, narrator)
    } catch {
      failure = error
    }
    let isWell = narrator.isWell && failure == nil && !narrator.isInterrupted()
    cast.end(keepingFolder: options.prepared != nil && isWell)
    if let signal = cast.interruption.signal { Terminal.end(128 + signal) }
    if options.prepared == nil || options.json || !isWell {
      narrator.end(seed: options.seed, after: failure)
    }
    if let failure { Terminal.complain("proof-demo: \(failure)") }
    Terminal.end(isWell ? 0 : 1)
  }

  private func play(_ cast: Cast, _ narrator: Narrator) throws {
    let tool = try Tool(cast)
    let service = try AttestationSide(cast, tool)
    if options.act != .shop {
      let world = try World(cast, tool, service, hardware: options.hardware)
      let story = Story(world, narrator, seed: options.seed)
      guard options.prepared == nil else { return try story.prepare() }
      try story.play()
      story.end()
    }
    if options.act != .lock {
      try ShopStory(ShopWorld(cast, tool, service), narrator, seed: options.seed).play()
    }
  }
}
