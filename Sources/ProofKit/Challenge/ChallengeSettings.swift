// SPDX-License-Identifier: Apache-2.0

/// The way in which a client answers challenges.
public struct ChallengeSettings: Sendable {
  /// Shows pages to a person; nil if the app shows none.
  public var presenter: (any ChallengePresenter)?
  /// The app's choices for pages.
  public var page: ChallengePage.Options
  /// The highest level of work (a) that the client solves: 16 times 2^level hashes.
  public var workLevelMax: UInt8
  /// The highest level of work (b) that the client solves: that many problems of 32 MiB, one after the other.
  public var memoryWorkLevelMax: UInt8
  /// How many threads solve work (a).
  public var threadCount: Int

  /// Describes settings.
  ///
  /// - Parameters:
  ///   - presenter: Shows pages to a person.
  ///   - page: The app's choices for pages.
  ///   - workLevelMax: The highest level of work (a): a gate must not drain a battery.
  ///   - memoryWorkLevelMax: The same for work (b).
  ///   - threadCount: How many threads solve work (a), at least 1.
  public init(
    presenter: (any ChallengePresenter)? = nil, page: ChallengePage.Options = .init(),
    workLevelMax: UInt8 = 18, memoryWorkLevelMax: UInt8 = 4, threadCount: Int = 2
  ) {
    self.presenter = presenter
    self.page = page
    self.workLevelMax = workLevelMax
    self.memoryWorkLevelMax = memoryWorkLevelMax
    self.threadCount = threadCount
  }
}

/// The times of challenges, all in one place.
public enum ChallengeTimes {
  /// The longest time that a page is shown.
  public static let page = Duration.seconds(660)
  /// How long a request waits for the solution of another one before it solves its own challenge.
  public static let share = Duration.seconds(20)
}
