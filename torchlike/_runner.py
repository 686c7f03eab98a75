"""``python -m torchlike``: runs a program as Python does, with ``import torch`` meaning torchlike."""

from __future__ import annotations

import builtins
import io
import linecache
import os
import pkgutil
import runpy
import sys
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from ._alias import alias

__all__ = ["main"]

USAGE = """usage: torchlike [-h] [-V] [--compiled-for TPU] [doctor | -m MODULE | -c CODE | SCRIPT | -] [ARGUMENT ...]

Runs a program that imports PyTorch, with torchlike in PyTorch's place: `import torch` means torchlike, also where PyTorch is installed.

  doctor       says what is installed and compiled here, and what is missing for speed; a file of that name is a script
  SCRIPT       a file, a folder or a zip file with a __main__.py
  -m MODULE    a module, as `python -m` does
  -c CODE      the code of this argument
  -            what is read from standard input; the default
  ARGUMENT     what the program finds in sys.argv
  --compiled-for tpu:v5e:2x2
               compiles for TPUs that this machine does not have what the program does on the device "tpu", and prints at its end what
               the compiler says: arithmetic, memory, time. Nothing runs there. It needs the package libtpu
  -h, --help   prints this
  -V, --version

Further: TORCHLIKE_COMPILE=now compiles at first sight, TORCHLIKE_OP_BY_OP=1 runs each operation at its line."""


def main() -> None:
    """Runs the script or module that the command line names, and prints errors as Python does."""
    first, *others = sys.argv[1:] or ["-"]
    if first in ("-h", "--help"):
        print(USAGE)  # noqa: T201
    elif first in ("-V", "--version"):
        from .version import __version__

        print(f"torchlike {__version__}")  # noqa: T201
    elif first == "--compiled-for":
        if not others:
            _exit_with_usage("Argument expected for the --compiled-for option")
        _compile_for(*others)
    elif first in ("-m", "-c"):
        if not others:
            _exit_with_usage(f"Argument expected for the {first} option")
        (_run_module if first == "-m" else _run_text)(*others)
    elif first == "-":
        _run_input(others, first if len(sys.argv) > 1 else "")
    elif first == "doctor" and not others and not os.path.exists(first):
        from .utils._doctor import report

        sys.stdout.write(report())
    elif first.startswith("-"):
        _exit_with_usage(f"Unknown option: {first}")
    else:
        _run_script(first, *others)


def _exit_with_usage(words: str) -> NoReturn:
    sys.stderr.write(f"{words}\n{USAGE.partition(chr(10))[0]}\n")
    raise SystemExit(2)


# ---- what is run


def _compile_for(device: str, *arguments: str) -> None:
    from contextlib import ExitStack

    from .accelerator.described import compiled_for

    sys.argv[1:] = arguments
    with ExitStack() as described:
        try:
            compiled = described.enter_context(compiled_for(device))
        except (RuntimeError, ValueError) as error:
            _exit_with_usage(f"torchlike: {error}")
        described.callback(lambda: sys.stderr.write(f"{compiled}\n"))
        main()


def _run_script(script: str, *arguments: str) -> None:
    path = os.path.join(os.getcwd(), script)  # as Python has it, with every dot
    if pkgutil.get_importer(path) is not None:  # a folder, or a zip file
        _begin([script, *arguments], path)
        _run_with_short_tracebacks(lambda: runpy._run_module_as_main("__main__", False))  # pyright: ignore[reportAttributeAccessIssue]
        return
    code = _code_of(path, script)
    module = _begin([script, *arguments], os.path.dirname(os.path.realpath(path)))
    from importlib.machinery import SourceFileLoader

    vars(module).update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    _execute(code, path, module)


def _code_of(path: str, script: str) -> bytes | CodeType:
    """The text of a program, or its code where the file has been compiled."""
    try:
        with io.open_code(path) as file:
            code = pkgutil.read_code(file) if path.endswith(".pyc") else None  # pyright: ignore[reportAttributeAccessIssue]
            if code is None:
                file.seek(0)
                code = file.read()
            return code
    except OSError as error:
        sys.stderr.write(f"torchlike: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None


def _run_module(name: str, *arguments: str) -> None:
    _begin(["-m", *arguments], os.getcwd())
    _run_with_short_tracebacks(lambda: runpy._run_module_as_main(name))  # pyright: ignore[reportAttributeAccessIssue]


def _run_text(text: str, *arguments: str) -> None:
    if sys.version_info >= (3, 13):  # from then on tracebacks show the lines of such a program
        linecache.cache["<string>"] = (len(text), None, [f"{line}\n" for line in text.splitlines()], "<string>")
    _execute(text, "<string>", _begin(["-c", *arguments], ""))


def _run_input(arguments: list[str], first: str) -> None:
    module = _begin([first, *arguments], "")
    if not sys.stdin.isatty():
        _execute(sys.stdin.read(), "<stdin>", module)
        return
    import code

    alias()
    code.interact(f"Python {sys.version}\n`import torch` means torchlike.", local=vars(module), exitmsg="")


# ---- as Python runs it


def _begin(arguments: list[str], folder: str) -> ModuleType:
    """Sets up what a script expects at its start: ``sys.argv``, its folder in ``sys.path``, and an empty ``__main__``."""
    sys.argv[:] = arguments
    if not sys.flags.safe_path:
        sys.path[0] = folder  # instead of the folder from which torchlike was started
    module = sys.modules["__main__"] = ModuleType("__main__")
    vars(module).update(__builtins__=builtins, __annotations__={})
    return module


def _execute(source: str | bytes | CodeType, name: str, module: ModuleType) -> None:
    def run() -> None:
        code = source if isinstance(source, CodeType) else compile(source, name, "exec", dont_inherit=True)
        exec(code, vars(module))

    _run_with_short_tracebacks(run)


def _run_with_short_tracebacks(run: Any) -> None:
    """Runs a program. Its errors are shown without the lines of this file, which the program has not written."""
    alias()
    try:
        run()
    except SystemExit:
        raise
    except BaseException as error:
        hook, shortened = sys.excepthook, _without_runner(error.__traceback__)

        def show(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
            hook(kind, value.with_traceback(shortened), shortened)

        # Python calls it when the error arrives there, and also does what belongs to the error: Ctrl-C ends the process by its signal.
        sys.excepthook = show
        raise


def _without_runner(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
