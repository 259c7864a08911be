#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A program on a root file system measures the same after the file system was mounted from another block device.

  roots.py LISTING     LISTING: the program root_listing.c, linked statically

For each type of file system an image is made, and LISTING runs in a chroot on it: as root and as an ordinary user, from
one loop device, then from another. Mounts are in a namespace of this run's own. The kernel may lack a type, and an
ordinary user may not mount: such cases are skipped, named and counted. The last line is `N passed, M failed`.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / name) for name in ("Adversary/Attack", "Support/Runner")]

from checks import Checks  # noqa: E402
from run import in_own_mounts  # noqa: E402

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
IMAGE_BYTES = 320 << 20  # XFS makes none below 300 MiB.
# Made empty, and filled while mounted.
MADE_EMPTY = {"ext2": ["mkfs.ext4", "-q", "-t", "ext2"], "ext4": ["mkfs.ext4", "-q"], "xfs": ["mkfs.xfs", "-q"],
              "btrfs": ["mkfs.btrfs", "-q"], "f2fs": ["mkfs.f2fs", "-q"]}
# Made from a folder.
MADE_FULL = {"squashfs": lambda folder, image: ["mksquashfs", folder, image, "-quiet", "-noappend", "-no-progress"],
             "erofs": lambda folder, image: ["mkfs.erofs", image, folder]}
# Types whose UUID each kernel tells alike.
IDENTIFIED = {"ext2", "ext4", "xfs", "btrfs"}


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


class Roots:
    def __init__(self, listing, folder):
        self.listing = listing
        self.folder = folder
        self.point = folder / "mounted"
        self.point.mkdir()

    def fill(self, root):
        """Fills in the files that a root file system needs here. The storage is the ordinary user's."""
        for name in ("proc", "etc", "storage", "root-storage"):
            (root / name).mkdir(exist_ok=True)
        shutil.copy(self.listing, root / "listing")
        (root / "etc" / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        for name, owner in (("storage", 65534), ("root-storage", 0)):
            (root / name).chmod(0o700)
            secret = root / name / "device-secret"
            secret.write_bytes(bytes(range(32)))
            secret.chmod(0o600)
            for path in (root / name, secret):
                shutil.chown(path, owner, owner)

    def records(self, root):
        """Measures there: all lines as the ordinary user, and the root file system's line as root."""
        command = ["chroot", root]
        run("mount", "-t", "proc", "proc", root / "proc")
        try:
            own = run(*command[:1], "--userspec=65534:65534", "--groups=", root, "/listing", "/storage")
            roots = run(*command, "/listing", "/root-storage")
        finally:
            run("umount", root / "proc")
        return own, identity(roots)

    @contextlib.contextmanager
    def mounted(self, image, fs_type, options="nodev"):
        """The image, from a loop device that no other image has now."""
        device = run("losetup", "--find", "--show", image).strip()
        try:
            run("mount", "-t", fs_type, "-o", options, device, self.point)
            try:
                yield self.point, device
            finally:
                run("umount", self.point)
        finally:
            run("losetup", "--detach", device)


def identity(listing):
    """The record of the root file system."""
    return next(line for line in listing.splitlines() if line.startswith("1 4 root ")).rsplit(" ", 1)[1]


def make(roots, fs_type):
    """An image of this type with everything in it."""
    image = roots.folder / f"{fs_type}.image"
    if fs_type in MADE_FULL:
        source = roots.folder / f"{fs_type}.source"
        source.mkdir()
        roots.fill(source)
        run(*MADE_FULL[fs_type](source, image))
        return image
    with open(image, "wb") as file:
        file.truncate(IMAGE_BYTES)
    run(*MADE_EMPTY[fs_type], image)
    with roots.mounted(image, fs_type) as (root, _):
        roots.fill(root)
    return image


def reason_to_skip(fs_type):
    """Why this machine cannot mount the type, or None."""
    if shutil.which("modprobe") is not None:
        subprocess.run(["modprobe", "-q", fs_type], capture_output=True, check=False)
    known = [line.split()[-1] for line in pathlib.Path("/proc/filesystems").read_text("ascii").splitlines()]
    return None if fs_type in known else "the kernel does not have it"


def remounted(checks, roots, fs_type):
    """One image from two loop devices."""
    image = make(roots, fs_type)
    with roots.mounted(image, fs_type) as (root, first_device):
        before, as_root = roots.records(root)
    with contextlib.ExitStack() as stack:
        # Takes the number that was free, so that the image gets another one.
        other = roots.folder / "other.image"
        other.write_bytes(bytes(4096))
        device = run("losetup", "--find", "--show", other).strip()
        stack.callback(run, "losetup", "--detach", device)
        root, second_device = stack.enter_context(roots.mounted(image, fs_type))
        after, _ = roots.records(root)
    checks.that(first_device != second_device, f"{fs_type}: both times {first_device}")
    checks.that(after == before, f"{fs_type}: another record after the image was mounted from another device")
    checks.that(as_root == identity(before), f"{fs_type}: root and an ordinary user have another record")
    checks.that((identity(before) != "-") == (fs_type in IDENTIFIED), f"{fs_type}: the record is {identity(before)}")
    return identity(before)


def of_another_image(checks, roots, fs_type, known):
    """The same files in a file system of its own are another device."""
    image = roots.folder / f"{fs_type}.image"
    image.unlink()
    image = make(roots, fs_type)
    with roots.mounted(image, fs_type) as (root, _):
        checks.that(identity(roots.records(root)[0]) != known, f"{fs_type}: two images have one identity")


def snapshot(checks, roots):
    """A system that starts from a snapshot has its root in another subvolume of the same file system."""
    image = make(roots, "btrfs")
    with roots.mounted(image, "btrfs") as (root, _):
        before, _ = roots.records(root)
        run("btrfs", "subvolume", "snapshot", root, root / "snapshot")
    with roots.mounted(image, "btrfs", "nodev,subvol=snapshot") as (root, _):
        checks.that(roots.records(root)[0] == before, "btrfs: another record in a snapshot")
    image.unlink()


def in_memory(checks, roots):
    """tmpfs: each mount has a random number of its own."""
    seen = []
    for _ in range(2):
        run("mount", "-t", "tmpfs", "tmpfs", roots.point)
        roots.fill(roots.point)
        seen.append(roots.records(roots.point)[0])
        run("umount", roots.point)
    checks.that(seen[0] == seen[1], "tmpfs: another record at the second mount")
    checks.that(identity(seen[0]) == "-", f"tmpfs: the record is {identity(seen[0])}")


def overlaid(checks, roots):
    """overlayfs: the root of a container, and of a system that is read-only below."""
    image = make(roots, "ext4")
    seen = []
    for _ in range(2):
        with roots.mounted(image, "ext4") as (lower, _):
            upper = pathlib.Path(tempfile.mkdtemp(dir=roots.folder))
            run("mount", "-t", "tmpfs", "tmpfs", upper)
            for name in ("upper", "work", "root"):
                (upper / name).mkdir()
            run("mount", "-t", "overlay", "overlay", "-o",
                f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work", upper / "root")
            seen.append(roots.records(upper / "root")[0])
            run("umount", upper / "root")
            run("umount", upper)
    image.unlink()
    checks.that(seen[0] == seen[1], "overlay: another record at the second mount")
    checks.that(identity(seen[0]) == "-", f"overlay: the record is {identity(seen[0])}")


def main():
    if os.geteuid() != 0:
        print("skipped: every type: only root may mount an image\n1 skipped")
        print("1 passed, 0 failed")
        return 0
    in_own_mounts()
    checks = Checks()
    skipped = 0
    with tempfile.TemporaryDirectory(prefix="proofkit-roots-", dir="/var/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)
        roots = Roots(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        for fs_type in [*MADE_EMPTY, *MADE_FULL]:
            reason = reason_to_skip(fs_type)
            if reason is not None:
                print(f"skipped: {fs_type}: {reason}")
                skipped += 1
                continue
            known = remounted(checks, roots, fs_type)
            if fs_type in IDENTIFIED:
                of_another_image(checks, roots, fs_type, known)
            (roots.folder / f"{fs_type}.image").unlink()
        if reason_to_skip("btrfs") is None:
            snapshot(checks, roots)
        in_memory(checks, roots)
        if reason_to_skip("overlay") is None:
            overlaid(checks, roots)
        else:
            print("skipped: overlay: the kernel does not have it")
            skipped += 1
    print(f"{skipped} skipped")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
