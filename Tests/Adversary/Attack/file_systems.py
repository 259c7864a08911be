# SPDX-License-Identifier: Apache-2.0

"""File systems for a bundle: how each is made, and why this machine cannot make one."""

import array
import errno
import fcntl
import functools
import pathlib
import struct
import subprocess
import tempfile

from stage import BUILD

FS_IOC_ENABLE_VERITY = 0x40806685
EXCHANGE = 1 << 6  # XFS_SB_FEAT_INCOMPAT_EXCHRANGE


def tool(*words):
    """A tool that must succeed; its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: {done.stderr.strip()[-200:]}")
    return done.stdout


def make_xfs(image):
    tool("truncate", "-s", "320M", image)
    tool("mkfs.xfs", "-q", image)


def make_exchanging_xfs(image):
    """With the feature for exchanges of ranges: by mkfs.xfs from 6.10 on, or set in the superblock for an older one."""
    make_xfs(image)
    if subprocess.run(["mkfs.xfs", "-q", "-f", "-i", "exchange=1", image], capture_output=True).returncode == 0:
        return
    tool("mkfs.xfs", "-q", "-f", image)
    features = int(tool("xfs_db", "-r", "-c", "sb 0", "-c", "p features_incompat", image).split("= ")[1], 0)
    tool("xfs_db", "-x", "-c", "sb 0", "-c", f"write -d features_incompat {features | EXCHANGE:#x}", image)


def make_verity(image):
    tool("truncate", "-s", "32M", image)
    tool("mkfs.ext4", "-q", "-O", "verity", image)


def mounted(make, image, folder):
    """Makes a file system in a file and mounts it on a folder; returns what undoes it."""
    make(image)
    tool("mount", "-o", "loop", image, folder)
    return lambda: tool("umount", "--lazy", folder)


def enable_verity(path):
    """Puts a file under fs-verity: struct fsverity_enable_arg with SHA-256, blocks of 4 KiB, no salt."""
    with open(path, "rb") as file:
        fcntl.ioctl(file, FS_IOC_ENABLE_VERITY, array.array("B", struct.pack("<III116x", 1, 1, 4096)))


class Lacking(Exception):
    """The kernel or the file system does not have it. Any other failure is no reason to skip an attack."""


def tried(make, attempt):
    """Why this machine cannot make the file system, or lacks what the attempt needs; None if neither."""
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        place = pathlib.Path(name)
        folder = place / "mounted"
        folder.mkdir()
        try:
            undo = mounted(make, place / "image", folder)
        except RuntimeError as error:
            return f"no such file system here: {error}"
        try:
            attempt(folder)
        except Lacking as lacking:
            return str(lacking)
        finally:
            undo()
    return None


@functools.cache
def no_exchange():
    def attempt(folder):
        for name in ("one", "other"):
            (folder / name).write_text(name)
        done = subprocess.run([BUILD / "exchange", folder, "one", "other"], capture_output=True, text=True)
        if done.returncode == 3:
            raise Lacking("ranges cannot be exchanged: " + done.stderr.strip())

    return tried(make_exchanging_xfs, attempt)


@functools.cache
def no_verity():
    def attempt(folder):
        (folder / "one").write_text("one")
        try:
            enable_verity(folder / "one")
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOTTY):
                raise
            raise Lacking(f"no fs-verity: {error.strerror}") from error

    return tried(make_verity, attempt)
