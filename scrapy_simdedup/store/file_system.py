"""What kind of file system a file is on, as far as this system tells."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p", "fuse.sshfs", "glusterfs", "ceph"})
"""File systems that several hosts may use at a time."""


def network_file_system(path: Path, mounts: str | None = None) -> str | None:
    """The type of the network file system that ``path`` is on; None for a local one, or where nobody can tell.

    Args:
        path: an existing directory or file.
        mounts: the table of mounts in the form of ``/proc/self/mounts``; None reads this system's.
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    place = path.resolve()
    found, depth = None, -1
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " "))
        # The longest mount point that holds the path; of several on one point the last is the one that is seen.
        if (place == point or point in place.parents) and len(point.parts) >= depth:
            found, depth = fields[2], len(point.parts)
    return found if found in NETWORK else None
