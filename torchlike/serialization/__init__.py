"""torch.save and torch.load: checkpoints in PyTorch's own format, and what a file may use when it is loaded."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ._load import (
    _is_zipfile as _is_zipfile,
    get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
    load as load,
)
from ._options import (
    LoadEndianness as LoadEndianness,
    SourceChangeWarning as SourceChangeWarning,
    default_restore_location as default_restore_location,
    get_crc32_options as get_crc32_options,
    get_default_load_endianness as get_default_load_endianness,
    get_default_mmap_options as get_default_mmap_options,
    location_tag as location_tag,
    normalize_storage_type as normalize_storage_type,
    register_package as register_package,
    set_crc32_options as set_crc32_options,
    set_default_load_endianness as set_default_load_endianness,
    set_default_mmap_options as set_default_mmap_options,
    skip_data as skip_data,
)
from ._records import (
    PyTorchFileReader as PyTorchFileReader,
    PyTorchFileWriter as PyTorchFileWriter,
    _open_file_like as _open_file_like,
    _open_zipfile_reader as _open_zipfile_reader,
    _open_zipfile_writer as _open_zipfile_writer,
)
from ._safe import (
    add_safe_globals as add_safe_globals,
    clear_safe_globals as clear_safe_globals,
    get_safe_globals as get_safe_globals,
    safe_globals as safe_globals,
)
from ._save import save as save

# Numbers of PyTorch's older format, which some programs write by themselves.
DEFAULT_PROTOCOL = 2
LONG_SIZE, INT_SIZE, SHORT_SIZE = 4, 4, 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
STORAGE_KEY_SEPARATOR = ","

# The type of ``load``'s argument ``map_location``, for annotations.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | str | dict[str, str] | None

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "add_safe_globals", "clear_safe_globals", "default_restore_location", "get_crc32_options",
    "get_default_load_endianness", "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "location_tag", "normalize_storage_type", "register_package", "safe_globals", "save", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data",
]  # fmt: skip

# The classes and functions are defined in private files. Their module is this one, where users find them.
for _name in __all__:
    globals()[_name].__module__ = __name__
