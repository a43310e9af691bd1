"""A project as one ZIP archive: packed the same way each time, unpacked as hostile input.

An archive holds the files of a project's folder and the resources of its skills, nothing else: no exports, no
notes. What was forgotten stays forgotten, because its tombstones are among the files.
"""

from __future__ import annotations

import io
import shutil
import stat
import tempfile
import weakref
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from playground.errors import DocumentError, PlaygroundError, ProjectError
from playground.retrieval.archives import ENTRY_LIMIT, RATIO_LIMIT, UNPACKED_LIMIT, checked_names, folded_path
from playground.sources import Skill
from playground.values import shown
from playground.workspace.files import SIZE_LIMIT
from playground.workspace.folder_files import OWN_FILES, write_file
from playground.workspace.loading import load_folder
from playground.workspace.naming import checked_name
from playground.workspace.project import Project
from playground.workspace.saving import project_files
from playground.workspace.skill_resources import resources_of

__all__ = ["pack_files", "pack_project", "unpack_project"]

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date an archive can hold: equal projects give equal bytes
_UNIX = 3  # the system whose file modes the entries have
_MODE = (stat.S_IFREG | 0o644) << 16


def pack_project(project: Project) -> bytes:
    """Return a project as an archive; equal projects give equal bytes. O(bytes).

    Raises:
        ProjectError: When a record or a resource cannot be packed, or the archive would be too large for
            ``unpack_project``.
    """
    files = project_files(project)
    for skill in project.skills:
        files |= _resources(project.name, skill)
    sizes = [len(data) for data in files.values()]
    if len(files) > ENTRY_LIMIT or sum(sizes) > UNPACKED_LIMIT or max(sizes) > SIZE_LIMIT:
        raise ProjectError(
            f"The project {project.name!r} has {len(files):,} files with {sum(sizes):,} bytes, too much for "
            "one archive.",
            remedy=f"Keep to {ENTRY_LIMIT:,} files, {SIZE_LIMIT:,} bytes each and {UNPACKED_LIMIT:,} in all.",
            project=project.name,
        )
    _check_names(project.name, files)
    return pack_files(files)


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Return files as an archive, in the order of their names; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=_EPOCH)
            entry.create_system, entry.external_attr = _UNIX, _MODE
            entry.compress_type = _method(data)
            archive.writestr(entry, data)
    return buffer.getvalue()


def unpack_project(data: bytes, *, name: str) -> Project:
    """Return the project of an archive, in which nothing is trusted. O(unpacked bytes).

    Args:
        data: What ``pack_project`` made, or an archive of a project's folder made by hand, the folder itself
            included or not. Files that are no part of a project are left out, which a warning says.
        name: What the project is called.

    Returns:
        A project that no folder holds yet. Resources of its skills lie in a temporary folder that is removed
        when nothing refers to them any more.

    Raises:
        ProjectError: When the archive is damaged, encrypted or too large, unpacks to far more than it is, has
            names that are absolute, lead outside, are given twice or differ in case only, or links; or when the
            project in it is damaged.
    """
    checked_name(name)
    if len(data) > UNPACKED_LIMIT:
        raise _refused(name, f"has {len(data):,} bytes, the limit is {UNPACKED_LIMIT:,}")
    try:
        checked_names(f"{name}.zip", data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files, others = _chosen(name, archive.infolist())
            return _loaded(name, archive, files, others)
    except DocumentError as error:
        raise ProjectError(error.problem, remedy=error.remedy, project=name) from error
    except PlaygroundError:
        raise
    except Exception as error:  # a hostile archive can make any layer below fail in any way
        raise _refused(name, f"cannot be unpacked ({type(error).__name__})") from error


def _resources(project: str, skill: Skill) -> dict[str, bytes]:
    """Return the resources that lie in a skill's folder, by their path in the archive."""
    try:
        return {
            f"skills/{skill.id}/{path}": resource.read_bytes()
            for path, resource in resources_of(skill).items()
            if isinstance(resource, Path)
        }
    except OSError as error:
        raise ProjectError(
            f"A resource of the skill {skill.id[:80]!r} cannot be read: {error.strerror}.",
            remedy="Check its rights.",
            project=project,
        ) from error


def _check_names(project: str, names: Iterable[str]) -> None:
    """Refuse names that ``unpack_project`` refuses; only resources of skills in a folder can have them."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(folded_path(name), name)
        if other != name or "\\" in name:
            what = f"and {shown(other)} are one file on some disks" if other != name else "has a backslash"
            raise ProjectError(
                f"The project {project!r} cannot be packed: {shown(name)} {what}.",
                remedy="Rename the resource of the skill.",
                project=project,
            )


def _method(data: bytes) -> int:
    """Store what packs so well that unpacking would take it for a bomb; half the limit is far from it."""
    packed = len(zlib.compress(data))
    return zipfile.ZIP_STORED if len(data) > packed * RATIO_LIMIT / 2 else zipfile.ZIP_DEFLATED


def _chosen(name: str, entries: Sequence[zipfile.ZipInfo]) -> tuple[dict[str, zipfile.ZipInfo], int]:
    """Return the project's entries by their path in its folder, and how many others there are."""
    for entry in entries:
        mode = entry.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refused(name, "holds a link or a device")
        if "\0" in entry.orig_filename or "\\" in entry.orig_filename:
            raise _refused(name, "holds a name that no project has")
    spellings = Counter(folded_path(entry.filename) for entry in entries)
    if any(number > 1 for number in spellings.values()):
        raise _refused(name, "holds a name twice")
    files = {entry.filename: entry for entry in entries if not entry.is_dir()}
    lead = _lead(files)
    own = {path.removeprefix(lead): entry for path, entry in files.items() if _is_own(path, lead)}
    if "project.json" not in own:
        raise _refused(name, "holds no project.json")
    return own, len(files) - len(own)


def _lead(paths: Mapping[str, object]) -> str:
    """Return the one folder that everything lies in, with a slash; empty when there is none."""
    if "project.json" in paths:
        return ""
    tops = {path.partition("/")[0] for path in paths if not path.startswith("__MACOSX/")}
    return f"{tops.pop()}/" if len(tops) == 1 else ""


def _is_own(path: str, lead: str) -> bool:
    if not path.startswith(lead):
        return False
    top, slash, rest = path.removeprefix(lead).partition("/")
    return top in OWN_FILES and (bool(rest) if top == "skills" else not slash)


def _loaded(name: str, archive: zipfile.ZipFile, files: Mapping[str, zipfile.ZipInfo], others: int) -> Project:
    shelter = _Shelter()
    folder = shelter.path / name
    for path, entry in files.items():
        write_file(folder / path, archive.read(entry))
    project = load_folder(folder, name)
    skills = tuple(replace(skill, folder=_sheltered(skill, shelter)) for skill in project.skills)
    note = f"Files of the archive that are no part of a project were left out: {others:,}."
    warnings = (*project.warnings, note) if others else project.warnings
    return project.with_parts(skills=skills, warnings=warnings)


class _Shelter:
    """A temporary folder that lasts as long as this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="playground-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _ShelteredFolder(type(Path())):  # type: ignore[misc]  # the path class of this system
    """A folder in a shelter, which it keeps from being removed."""

    shelter: _Shelter


def _sheltered(skill: Skill, shelter: _Shelter) -> Path | None:
    if skill.folder is None or not any(path.name != "SKILL.md" for path in skill.folder.iterdir()):
        return None
    folder = _ShelteredFolder(skill.folder)
    folder.shelter = shelter
    return folder


def _refused(name: str, what: str) -> ProjectError:
    return ProjectError(
        f"The archive of {name!r} {what}.",
        remedy="Export the project again, or import an archive that this program wrote.",
        project=name,
    )
