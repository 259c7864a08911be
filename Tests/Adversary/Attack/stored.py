# SPDX-License-Identifier: Apache-2.0

"""Attacks on what the app stores: its configuration, its token.

No source sees them; the configuration's own check, its salt and the token's generation do.
"""

import dataclasses

from stage import Judge, Refusal, Stage

DAMAGED = "damaged"  # No verdict: the app has no proof to send, and says why.


@dataclasses.dataclass
class Case:
    """An accepted app, who judges it, the configuration it works under."""
    stage: Stage
    judge: Judge
    app: object
    config: str
    policy: str

    def verdict_under(self, config):
        self.app.ask("config " + config)
        try:
            return self.judge.judge(self.app)
        except Refusal as refusal:
            # The core's answers: -2 damaged, and -3 no configuration at all, where the first four bytes were hit.
            return DAMAGED if "core -2" in str(refusal) or "core -3" in str(refusal) else str(refusal)


def edited(case):
    verdicts = set()
    for index in range(len(case.config) // 2):
        changed = bytearray.fromhex(case.config)
        changed[index] ^= 0x40
        verdicts.add(case.verdict_under(changed.hex()))
    return sorted(verdicts, key=str)


def asking_for_less(case):
    """Every check value right, and no environment source any more."""
    return [case.verdict_under(case.judge.ask("forge " + case.config)[0].split(" ")[1])]


def older_configuration(case):
    """Its salt gives another device key, so to the hardware it is a stranger's. The newer one is accepted."""
    newer = case.judge.enrol(case.app, case.policy, 2)
    verdicts = [case.verdict_under(case.config)]
    if case.verdict_under(newer) != 1:
        raise Refusal("the newer configuration is not accepted under its own token")
    return verdicts


def newer_configuration(case):
    """Made by the service, but its token never reached this hardware."""
    other = Judge()
    try:
        return [case.verdict_under(other.enrol(case.app, case.policy, 2))]
    finally:
        other.close()


def older_token(case):
    case.judge.enrol(case.app, case.policy, 2)
    return [int(case.judge.ask("token 1")[0].split(" ")[1])]
