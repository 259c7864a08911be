# SPDX-License-Identifier: Apache-2.0

"""Attacks that are in place when the app starts: `(stage)`; returns options for `Stage.start`."""

import os
import pathlib
import shutil
import subprocess

from stage import BUILD
from tools import mount_over


def environment(**variables):
    def attack(_):
        return {"env": {**os.environ, **{name: str(value) for name, value in variables.items()}}}

    return attack


def other_library_folder(stage):
    shutil.copy(BUILD / "libsample.so.1", stage.spare / "libsample.so.1")
    return {"env": {**os.environ, "LD_LIBRARY_PATH": str(stage.spare)}}


def library_swapped(stage):
    shutil.copy(BUILD / "libforged.so", stage.library)
    return {}


def flip(path, marker):
    data = bytearray(path.read_bytes())
    data[data.index(marker)] ^= 1
    path.write_bytes(data)


def executable_byte(stage):
    """A byte that is never loaded: the compiler's own comment."""
    flip(stage.executable, b"GCC: (")
    return {}


def executable_constant(stage):
    flip(stage.executable, b"sample marker")
    return {}


def started_from_bind_mount(stage):
    other = stage.spare / "other"
    shutil.copy(stage.executable, other)
    flip(other, b"sample marker")
    other.chmod(0o755)
    return {"undo": mount_over(other, stage.executable)}


def run_from_memory(stage):
    memory = os.memfd_create("sample", 0)
    os.write(memory, stage.executable.read_bytes())
    return {"wrapper": [], "executable": f"/proc/self/fd/{memory}", "pass_fds": (memory,), "cwd": stage.app_folder,
            "undo": lambda: os.close(memory)}


def under(*wrapper):
    def attack(_):
        return {"wrapper": wrapper}

    return attack


# A copy of what the kernel says of the process, that knows of no tracer, in the kernel's place.
COVER = r"""
cd "$0" && sed 's/^TracerPid:.*/TracerPid:\t0/' /proc/$$/status > status &&
mount --bind status /proc/$$/task/$$/status && mount --bind status /proc/$$/status && exec "$@"
"""


def tracer_covered(stage):
    """Traced from the beginning; where the kernel would tell, other files are mounted. New threads are not followed:
    the probe's helper thread has a `status` that nothing covers, and would tell of the tracer."""
    return {"wrapper": ["strace", "-o", "/dev/null", "sh", "-c", COVER, stage.spare]}


def tracer_outside(_):
    """Traced from the beginning, by a process of which there is no number in the app's own namespace."""
    return {"wrapper": ["strace", "-f", "-o", "/dev/null", "unshare", "--pid", "--fork", "--mount-proc"]}


def preload_file(stage):
    """/etc/ld.so.preload, in this run's own mounts. The library has the name that the probe gives to having no file."""
    listing = stage.spare / "ld.so.preload"
    listing.write_text("none")
    shutil.copy(BUILD / "libpreload.so", stage.app_folder / "none")
    target = pathlib.Path("/etc/ld.so.preload")
    if target.exists():
        return {"undo": mount_over(listing, target)}
    # The file to mount over does not exist, and the real /etc stays untouched: a copy takes its place here.
    shadow = stage.spare / "etc"
    shutil.copytree("/etc", shadow, symlinks=True)
    shutil.copy(listing, shadow / "ld.so.preload")
    return {"undo": mount_over(shadow, "/etc")}


def other_machine(stage):
    """The whole installation, secret included, on a device with another identity."""
    identity = stage.spare / "machine-id"
    identity.write_text("0123456789abcdef0123456789abcdef\n")
    return {"undo": mount_over(identity, "/etc/machine-id")}


def without_secret(stage):
    (stage.storage / "device-secret").unlink()
    return {}


def storage_opened(stage):
    stage.storage.chmod(0o755)
    return {}


def other_processor(stage):
    facts = stage.spare / "cpuinfo"
    real = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    facts.write_text("vendor_id\t: OtherMaker\n" + real)
    return {"undo": mount_over(facts, "/proc/cpuinfo")}


def other_board(stage):
    """Serials where there were none, or others than there were."""
    board = stage.spare / "class" / "dmi" / "id"
    board.mkdir(parents=True)
    for name in ("board_serial", "product_serial", "product_uuid"):
        (board / name).write_text("0123456789\n")
    return {"undo": mount_over(stage.spare / "class", "/sys/class")}


def other_root(stage):
    """The same folders under the root of another file system, of a type that has a UUID."""
    root, image = stage.spare / "root", stage.spare / "root.image"
    root.mkdir()
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, root], check=True)

    def undo():
        subprocess.run(["umount", "-R", "-l", root], check=True)

    try:
        for path in pathlib.Path("/").iterdir():
            if path.is_symlink():
                (root / path.name).symlink_to(os.readlink(path))
            elif path.is_dir():
                # mkfs has made lost+found.
                (root / path.name).mkdir(exist_ok=True)
                subprocess.run(["mount", "--rbind", path, root / path.name], check=True)
    except BaseException:
        undo()
        raise
    return {"wrapper": ["chroot", root], "undo": undo}


def other_release(stage):
    release = stage.spare / "os-release"
    release.write_text(pathlib.Path("/etc/os-release").read_text(encoding="utf-8") + 'VARIANT="other"\n')
    return {"undo": mount_over(release, pathlib.Path("/etc/os-release").resolve())}
