"""The blocks that ``playground blocks`` is given: a file, or the standard input."""

from __future__ import annotations

from pathlib import Path

from playground.commands.one_file import file_content
from playground.workspace.block_files import BlockFile, blocks_from_file

__all__ = ["read_block_file"]


def read_block_file(path: str) -> BlockFile:
    """Read blocks of a file, or of the standard input for ``-``; see ``blocks_from_file``. O(bytes).

    Raises:
        DocumentError: When the file cannot be read, is too large, or is in none of the forms.
        InvalidInputError: When a row is no block.
    """
    name, data = file_content(path)
    return blocks_from_file(name, data, ending=Path(path).suffix)
