import Foundation

extension Story {
  /// The link loses, repeats, damages and breaks off; a command is still done once.
  func useBadRadio() throws {
    narrator.begin("A bad radio")
  }
}
