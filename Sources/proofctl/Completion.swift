// SPDX-License-Identifier: Apache-2.0

import ProofJOSE

/// The script that completes a command line in a shell.
enum Completion {
  static let verb = Verb(
    "completion bash", [], [], "writes a completion for bash: source <(proofctl completion bash)"
  ) { _ in Answer(["script": .string(bash)], text: bash) }

  /// Nouns, then the verbs of a noun, then the flags of a verb; files where a flag takes one.
  private static var bash: String {
    let nouns = VerbTable.nouns.joined(separator: " ")
    var verbs = ""
    for noun in VerbTable.nouns {
      let names = VerbTable.verbs(of: noun).map(\.name).filter { !$0.isEmpty }
      if !names.isEmpty { verbs += "    \(noun)) words=\"\(names.joined(separator: " "))\" ;;\n" }
    }
    var flags = ""
    for verb in VerbTable.all {
      let names = (verb.flags + Invocation.globals).map(\.name).joined(separator: " ")
      flags += "    \"\(verb.path)\") words=\"\(names)\" ;;\n"
    }
    return """
      _proofctl() {
        local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words=
        local first=${COMP_WORDS[1]} second=${COMP_WORDS[2]}
        case $last in
          --*-file|--store|--ca|--key|--output|--bundle|--ledger|--issuer-key|--sources|--app)
            mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        esac
        if [[ $COMP_CWORD -eq 1 ]]; then
          words="\(nouns) --help"
        elif [[ $first == explain && $word != -* ]]; then
          words="\(Reason.all.map(\.code).joined(separator: " "))"
        elif [[ $COMP_CWORD -eq 2 && $word != -* ]]; then
          case $first in
      \(verbs)    esac
        fi
        if [[ -z $words ]]; then
          local path="$first $second"
          case $first in \(VerbTable.all.filter { $0.name.isEmpty }.map(\.noun).joined(separator: "|"))) path=$first ;; esac
          case $path in
      \(flags)    esac
          [[ $word == -* ]] || { mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; }
        fi
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
      }
      complete -F _proofctl proofctl
      """
  }
}
