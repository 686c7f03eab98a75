"""Compiles ``handler.c`` into ``handler_code.py``: ``python -m torchlike.engine.onednn.build``, where gcc is installed."""

from __future__ import annotations

import base64
import subprocess
import tempfile
import zlib
from pathlib import Path

FLAGS = [
    "-Os", "-ffreestanding", "-fPIC", "-fno-stack-protector", "-fcf-protection=none", "-fno-asynchronous-unwind-tables",
    "-fno-tree-loop-distribute-patterns", "-mno-red-zone", "-Wall", "-Wextra", "-Werror",
]  # fmt: skip
HERE = Path(__file__).parent
ENTRIES = ("handler", "serve", "run", "stop", "place", "lend", "give_back")


def compiled(compiler: str = "gcc") -> tuple[bytes, dict[str, int]]:
    """Returns the machine code, and the offsets in it of the functions that are called from outside.

    Raises:
        ValueError: the code refers to something outside it.
    """
    with tempfile.TemporaryDirectory() as folder:
        object_file, flat = Path(folder, "handler.o"), Path(folder, "handler.bin")
        subprocess.run([compiler, *FLAGS, "-c", str(HERE / "handler.c"), "-o", str(object_file)], check=True)
        relocations = subprocess.run(
            ["objdump", "-r", str(object_file)], check=True, capture_output=True, text=True
        ).stdout
        if "R_X86_64" in relocations:
            raise ValueError(f"the code cannot be put at any address:\n{relocations}")
        subprocess.run(["objcopy", "-O", "binary", "-j", ".text", str(object_file), str(flat)], check=True)
        symbols = subprocess.run(
            ["nm", str(object_file)], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        places = {name: int(address, 16) for address, _, name in map(str.split, symbols)}
        return flat.read_bytes(), {name: places[name] for name in ENTRIES}


def version(compiler: str = "gcc") -> str:
    """The version of the compiler: another version may make other code of the same source."""
    return subprocess.run([compiler, "-dumpfullversion"], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    code, entries = compiled()
    packed = base64.b85encode(zlib.compress(code, 9)).decode()
    lines = [f'    "{packed[i : i + 128]}"' for i in range(0, len(packed), 128)]
    (HERE / "handler_code.py").write_text(
        '"""The machine code of ``handler.c`` for x86-64. ``python -m torchlike.engine.onednn.build`` writes this file."""\n\n'
        "import base64\nimport zlib\n\n"
        f"COMPILER = {version()!r}\nENTRIES = {entries!r}\n\nCODE = zlib.decompress(base64.b85decode(\n".replace(
            "'", '"'
        )
        + "\n".join(lines)
        + "\n))  # fmt: skip\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
