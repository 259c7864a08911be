/// Why an attack could not even be tried.
struct AttackFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
