"""Skills as people upload them: a SKILL.md, or a ZIP archive of one skill's folder or of several.

Nothing is written anywhere: resources stay in memory until the project that has them is saved. Bytes in,
values out.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from playground.digests import text_digest
from playground.errors import DocumentError
from playground.retrieval.archives import checked_names, folded_path
from playground.retrieval.decoding import decode, replace_unstorable
from playground.retrieval.documents import SIZE_LIMIT, LoadWarning, check_size
from playground.retrieval.free_names import FreeNames
from playground.retrieval.notes import few_notes
from playground.sources.skill_files import RESOURCE_BYTES, SKILL_BYTES, SKILL_FILE
from playground.sources.skill_text import Skill, parse_skill

__all__ = ["SkillLoad", "load_skills"]

ARCHIVE_BYTES = 50_000_000  # of all that one archive unpacks to; it is held in memory
ID_CHARACTERS = 60  # of an id that is made here; it names a folder, whose name has 255 bytes at most
NAME_BYTES = 255  # of a file's name, as file systems have it
PATH_BYTES = 1_000  # of a resource's path; longer ones do not fit below a project's folder everywhere
PLACES = 3  # named in one warning
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # an archive, an empty one
_NOT_IN_ID = re.compile(r"[^\w.-]+")
_MAC = "__MACOSX"
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SkillLoad:
    """Everything a load of skills gave.

    Attributes:
        skills: With unique ids, in the order of the files.
        warnings: What a person should know about files that were read all the same.
        errors: One for each file, or skill of an archive, that could not be read.
    """

    skills: tuple[Skill, ...] = ()
    warnings: tuple[LoadWarning, ...] = ()
    errors: tuple[DocumentError, ...] = ()


def load_skills(files: Iterable[tuple[str, bytes]], *, size_limit: int = SIZE_LIMIT) -> SkillLoad:
    """Read skills. O(unpacked bytes).

    A skill's id is the name of its folder in the archive; that of a single file, and of an archive of one
    skill without a folder, is its name, else the file's. Files of its folder become its resources.

    Args:
        files: Pairs of file name and content.
        size_limit: Largest file that is read, in bytes.
    """
    ids = FreeNames(key=folded_path)  # they name folders
    skills: list[Skill] = []
    warnings: list[LoadWarning] = []
    errors: list[DocumentError] = []
    for given, data in files:
        notes: list[str] = []
        name = replace_unstorable(given, notes.append) or "The text"
        try:
            check_size(name, len(data), size_limit)
            if data.startswith(_ZIP):
                read = _unpacked(name, data, errors.append, notes.append)
            else:
                read = [_skill(name, data, "", _stem(given), notes.append)]
        except DocumentError as error:
            errors.append(error)
            continue
        for skill in read:
            skill_id = ids.take(skill.id)
            if skill_id != skill.id:
                notes.append(f"The id {skill.id!r} occurs more than once; a later skill became {skill_id!r}.")
            notes += (f"{skill_id}: {issue}" for issue in skill.issues)
            skills.append(replace(skill, id=skill_id))
        warnings.extend(LoadWarning(name, note) for note in few_notes(notes))
    return SkillLoad(tuple(skills), tuple(warnings), tuple(errors))


def _skill(name: str, data: bytes, folder: str, file_stem: str, warn: Warn) -> Skill:
    """Read a SKILL.md; without a folder it is called by its own name, else by its file's."""
    if len(data) > SKILL_BYTES:
        raise _refused(
            name,
            f"has {len(data):,} bytes, the limit is {SKILL_BYTES:,}",
            "Move a part of it into resources.",
        )
    text = decode(name, data, warn)
    skill = parse_skill(text, id=_id(folder))
    if folder and skill.id:
        return skill
    own = skill.name if skill.name != skill.id else ""
    stem = "" if file_stem.casefold() == _stem(SKILL_FILE).casefold() else file_stem
    found = _id(own) or _id(stem) or f"skill-{text_digest(text).removeprefix('sha256:')[:12]}"
    return parse_skill(text, id=found)


def _unpacked(name: str, data: bytes, fail: Callable[[DocumentError], None], warn: Warn) -> list[Skill]:
    checked_names(name, data, entities=True)  # refuses what is hostile, before anything is kept
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = _contents(name, archive, warn)
    folders = sorted(
        (path.parent for path in contents if path.name.casefold() == SKILL_FILE.casefold()),
        key=lambda folder: (len(folder.parts), folder.parts),
    )
    if not folders:
        raise _refused(
            name, f"holds no {SKILL_FILE}", f"Pack the folder of a skill, with its {SKILL_FILE}, and load that."
        )
    owned: dict[PurePosixPath, dict[PurePosixPath, bytes]] = {folder: {} for folder in folders}
    beside = []
    for path, content in contents.items():
        # The innermost folder with a SKILL.md: a skill inside another one's folder has its own files.
        owner = next((parent for parent in path.parents if parent in owned), None)
        if owner is None:
            beside.append(str(path))
        else:
            owned[owner][path.relative_to(owner)] = content
    if beside:
        warn(f"Left out, because no {SKILL_FILE} stands above them: {_some(beside)}.")
    skills = []
    for folder in folders:
        try:
            skills.append(_packed_skill(name, folder, owned[folder], warn))
        except DocumentError as error:
            fail(error)
    return skills


def _packed_skill(
    archive: str, folder: PurePosixPath, files: Mapping[PurePosixPath, bytes], warn: Warn
) -> Skill:
    (own,) = (path for path in files if len(path.parts) == 1 and path.name.casefold() == SKILL_FILE.casefold())
    skill = _skill(f"{archive}, {folder / own}", files[own], folder.name, _stem(archive), warn)
    resources = {path: data for path, data in files.items() if path != own}
    _check_tree(archive, resources)
    kept = sorted((str(path), data) for path, data in resources.items() if len(data) <= RESOURCE_BYTES)
    if large := [str(folder / path) for path, data in resources.items() if len(data) > RESOURCE_BYTES]:
        warn(f"Left out, because they have more than {RESOURCE_BYTES:,} bytes: {_some(large)}.")
    return replace(skill, resources=tuple(kept))


def _contents(name: str, archive: zipfile.ZipFile, warn: Warn) -> dict[PurePosixPath, bytes]:
    """Return the files of an archive that was checked, by path."""
    found: dict[PurePosixPath, bytes] = {}
    seen: set[str] = set()
    links, total = [], 0
    for entry in archive.infolist():
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if entry.is_dir() or _MAC in path.parts or not path.parts:
            continue
        if stat.S_ISLNK(entry.external_attr >> 16):  # where Unix archivers keep the mode
            links.append(str(path))
            continue
        if folded_path(str(path)) in seen:
            raise _refused(
                name,
                f"holds {str(path)[:80]!r} twice, as some disks see it",
                "Rename one of them.",
            )
        longest = max(len(part.encode("utf-8", "replace")) for part in path.parts)
        if longest > NAME_BYTES or len(str(path).encode("utf-8", "replace")) > PATH_BYTES:
            raise _refused(name, f"holds a file whose name is too long: {str(path)[:80]!r}", "Shorten it.")
        seen.add(folded_path(str(path)))
        total += entry.file_size  # as it was unpacked: the check compared it with what came out
        if total > ARCHIVE_BYTES:
            raise _refused(name, f"unpacks to more than {ARCHIVE_BYTES:,} bytes", "Load the skills one by one.")
        found[path] = archive.read(entry)
    if links:
        warn(f"Left out, because they are links: {_some(links)}.")
    return found


def _check_tree(name: str, files: Iterable[PurePosixPath]) -> None:
    """Refuse files that no folder can hold, because one has the name of another's folder."""
    paths = set(files)
    for path in sorted(paths):
        if any(parent in paths for parent in path.parents):
            raise _refused(name, f"holds a file and a folder of one name: {str(path)[:80]!r}", "Rename one.")


def _id(wanted: str) -> str:
    """Return a name that a folder can have, on every system; empty where nothing of it is left."""
    return _NOT_IN_ID.sub("-", wanted).strip(".-")[:ID_CHARACTERS].rstrip(".-")


def _stem(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).stem


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - PLACES:,} more" if len(paths) > PLACES else ""
    return ", ".join(path[:80] for path in paths[:PLACES]) + more


def _refused(name: str, problem: str, remedy: str) -> DocumentError:
    return DocumentError(f"{name} {problem}.", remedy=remedy, name=name)
