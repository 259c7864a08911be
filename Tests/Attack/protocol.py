"""Attacks on what the app stores: its configuration, its token."""

import contextlib

from stage import BUILD, Judge, Refusal, Stage


def check(count):
    """Adds the checks, one printed line each."""
    print("\nOn what the app stores:")
    for name, attack in (("configuration: any byte changed", edited), ("configuration: made to ask for less", forged),
                         ("configuration and token of two generations", mixed), ("older token presented again", older)):
        for policy in ("full", "incremental"):
            with contextlib.ExitStack() as stack:
                stage = Stage(BUILD / "stage")
                stack.callback(stage.close)
                judge = Judge()
                stack.callback(judge.close)
                app = stage.start()
                config = judge.enrol(app, policy)
                words, refused = attack(judge, app, config, policy)
            count.check(refused, f"{name}, {policy}: {words}")
        print(f"{name:64} {words}", flush=True)


def edited(judge, app, config, _):
    """Each byte in turn: the app cannot even measure under it, and says why."""
    data = bytes.fromhex(config)
    for index in range(len(data)):
        changed = bytearray(data)
        changed[index] ^= 0x40
        app.ask("config " + changed.hex())
        try:
            judge.judge(app)
            return f"byte {index} was not noticed", False
        except Refusal as refusal:
            # Core answers: -2 damaged, or -3 no configuration at all, for the magic.
            if "core -2" not in str(refusal) and not ("core -3" in str(refusal) and index < 4):
                return f"byte {index}: {refusal}", False
    return "no proof: configuration damaged", True


def forged(judge, app, config, _):
    """A configuration with every check value right, which no longer asks for the environment."""
    app.ask("config " + judge.ask("forge " + config)[0].split(" ")[1])
    verdict = judge.judge(app)
    return f"verdict {verdict}", verdict == 16


def mixed(judge, app, config, policy):
    """The old configuration under the newer token: its salt gives another device key, so it is a stranger's."""
    newer = judge.enrol(app, policy, 2)
    app.ask("config " + config)
    old = judge.judge(app)
    app.ask("config " + newer)
    new = judge.judge(app)
    return f"old configuration: verdict {old}; new: {new}", (old, new) == (17, 1)


def older(judge, app, config, policy):
    judge.enrol(app, policy, 2)
    verdict = int(judge.ask("token 1")[0].split(" ")[1])
    return f"verdict {verdict}", verdict == 35
