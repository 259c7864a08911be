import Console
import Glibc
import ProofJOSE
import ProofKit
import ProofModel
import ProofService

/// Checks everything that was named, and reports the state and the next step of each.
enum Diagnosis {
  static let verb = Verb(
    "diagnose", [],
    [Option("--app", "FOLDER", help: "looks at an app's stored measurement")],
    "looks at store, service and an app's stored measurement", run: run)

  private struct Finding {
    let what: String
    let isGood: Bool
    let detail: String
  }

  private static func run(_ invocation: Invocation) throws -> Answer {
    var findings = [Finding(what: "SDK key", isGood: true, detail: "\(MeasurementProofKey.sdk)")]
    func look(_ what: String, _ body: () throws -> String) {
      do {
        findings.append(Finding(what: what, isGood: true, detail: try body()))
      } catch {
        findings.append(Finding(what: what, isGood: false, detail: "\(error)"))
      }
    }
    if let path = invocation.value("--store", else: "PROOF_STORE") {
      look("store") {
        let (name, lock) = try Account.identity(in: SQLiteStore(at: path))
        return "account \(name), locked by a \(lock)"
      }
      look("account") { try account(invocation) }
    }
    if let url = invocation.value("--service", else: "PROOF_SERVICE") {
      let remote = try RemoteAccount(url, invocation)
      look("service") {
        let answer = try remote.get("/health")
        guard answer.status == 200 else {
          throw Failure("/health answers with status \(answer.status)")
        }
        return String(decoding: answer.body.prefix { $0 != 10 }, as: UTF8.self)
      }
      look("clock") { try clock(try remote.get("/health").serverTime) }
      look("management") { try account(invocation) }
    }
    if let folder = invocation.value("--app") {
      look("stored measurement") { try stored(folder) }
    }
    let isGood = findings.allSatisfy(\.isGood)
    return Answer(
      .array(
        findings.map {
          [
            "what": .string($0.what), "state": $0.isGood ? "well" : "failed",
            "detail": .string($0.detail),
          ]
        }), isGood: isGood)
  }

  private static func account(_ invocation: Invocation) throws -> String {
    let value = try AccountAccess(invocation).perform("metrics/show")
    guard case .object(let object) = value else { return value.text }
    return object.members.map { "\($0.name) \($0.value.text)" }.joined(separator: ", ")
  }

  /// Tokens are valid to the second, so a wrong clock refuses valid ones.
  private static func clock(_ theirs: Int64?) throws -> String {
    guard let theirs else { throw Failure("the service does not tell its time") }
    let difference = JOSEClock.system.now.seconds - theirs
    guard abs(difference) <= 30 else {
      throw Failure("this machine's clock differs by \(difference) seconds; set one of the two")
    }
    return "differs by \(difference) seconds"
  }

  private static func stored(_ folder: String) throws -> String {
    guard unsafe access(folder, F_OK) == 0 else {
      throw Failure("\(folder) does not exist; name the folder that the app's MeasurementStore has")
    }
    guard let stored = try MeasurementStore.inspect(folder: folder) else {
      return "nothing is stored"
    }
    return "instance \(stored.instance), generation \(stored.generation), "
      + "\(stored.tokens.count) tokens; \(stored.config)"
  }
}
