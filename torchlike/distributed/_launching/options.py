"""The launcher's options, which are those of torchrun."""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

__all__ = ["checked_nodes", "config_of", "parser", "processes", "unsupported"]

DEFAULT_PORT = 29500
DEFAULT_PORT_OF_C10D = 29400
LOOK_SECONDS = 0.1
SIGNALS = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"

# Options of torchrun that are known and not supported, with what may be passed nevertheless.
_UNSUPPORTED = {
    "event_log_handler": (None, "null"),
    "logs_specs": (None,),
    "numa_binding": (None,),
    "duplicate_stdout_filters": (None, ""),
    "duplicate_stderr_filters": (None, ""),
    "virtual_local_rank": (False,),
}


def parser() -> argparse.ArgumentParser:
    """The parser of the command line. As with torchrun, ``PET_NNODES`` and so on in the environment are the defaults."""
    made = argparse.ArgumentParser(
        prog="python -m torchlike.distributed.run",
        description="Starts a program in several processes, which find each other by torch.distributed.",
    )

    def option(*names: str, **how: object) -> None:
        # torchrun accepts long names with hyphens and with underscores.
        long = [name for name in names if name.startswith("--")]
        spelled = dict.fromkeys([*names, *("--" + name[2:].replace("-", "_") for name in long)])
        environment = os.environ.get(f"PET_{long[0][2:].replace('-', '_').upper()}")
        if environment is not None:
            how["default"] = environment not in ("", "0") if how.get("action") == "store_true" else environment
        made.add_argument(*spelled, **how)  # type: ignore[arg-type]

    option("--nnodes", default="1:1", help="how many machines, or MIN:MAX")
    option("--nproc-per-node", default="1", help='processes on each: a number, or "auto", "cpu" or "gpu"')
    option("--node-rank", type=int, default=0, help="this machine's number, for the static backend")
    option("--rdzv-backend", default="static", help='how launchers meet: "static" or "c10d"')
    option("--rdzv-endpoint", default="", help="HOST:PORT where launchers meet")
    option("--rdzv-id", default="none", help="a name for this run")
    option(
        "--rdzv-conf",
        default="",
        help="KEY=VALUE,... for the meeting: timeout, join_timeout, last_call_timeout, is_host",
    )
    option("--standalone", action="store_true", help="one machine, and a free port")
    option("--master-addr", default="127.0.0.1", help="the first machine, for the static backend")
    option(
        "--master-port",
        type=int,
        default=None,
        help=f"a port of it, by default {DEFAULT_PORT}, or a free one on one machine",
    )
    option("--local-addr", default=None, help="the address of this machine")
    option("--max-restarts", type=int, default=0, help="how often all processes are started again after a failure")
    option("--monitor-interval", type=float, default=LOOK_SECONDS, help="seconds between looks at the processes")
    option(
        "--start-method",
        default="spawn",
        choices=["spawn", "fork", "forkserver"],
        help="changes nothing: processes are always fresh",
    )
    option("--role", default="default", help="a name for the processes")
    option("--log-dir", default=None, help="a folder for what the processes print, in RUN/attempt_N/LOCAL_RANK")
    option(
        "-r",
        "--redirects",
        default="0",
        help="which output goes into files: 1 stdout, 2 stderr, 3 both, or LOCAL_RANK:1,...",
    )
    option("-t", "--tee", default="0", help="which output goes into files and to the console too, as --redirects")
    option("--local-ranks-filter", default="", help="the local ranks whose output goes to the console, as 0,1")
    option("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    option("--no-python", action="store_true", help="the program is not one of Python")
    option("--run-path", action="store_true", help="the program is a file of Python, whatever else is said")
    option("--signals-to-handle", default=SIGNALS, help="the signals that end the processes as well")
    option("--shutdown-timeout", type=int, default=None, help="seconds that processes have to end, by default 30")
    for name, accepted in _UNSUPPORTED.items():
        how = {"action": "store_true"} if accepted == (False,) else {"default": None}
        option("--" + name.replace("_", "-"), help="not supported", **how)
    made.add_argument("training_script", help="the program")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def unsupported(options: argparse.Namespace) -> None:
    """Raises for options that are not supported, or contradict each other."""
    for name, accepted in _UNSUPPORTED.items():
        if getattr(options, name) not in accepted:
            raise NotImplementedError(f"torchlike does not support --{name.replace('_', '-')} yet")
    if options.no_python and options.module and not options.run_path:
        raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
    if options.rdzv_backend not in ("static", "c10d"):
        if options.rdzv_backend.startswith("etcd"):
            raise NotImplementedError(f"torchlike does not support --rdzv-backend {options.rdzv_backend} yet")
        raise ValueError(
            f"The rendezvous backend '{options.rdzv_backend}' is not registered. Did you forget to call `register`?"
        )


def checked_nodes(text: str) -> tuple[int, int]:
    """The least and the largest number of machines.

    Raises:
        RuntimeError: the text is neither N nor MIN:MAX. AssertionError: no such number of machines is possible.
    """
    numbers = [int(part) for part in text.split(":")]
    if len(numbers) > 2:
        raise RuntimeError(f'nnodes={text} is not in "MIN:MAX" format')
    least, most = numbers[0], numbers[-1]
    if not 0 < least <= most:
        raise AssertionError(f"min_nodes must be > 0 and <= max_nodes, got min_nodes={least}, max_nodes={most}")
    return least, most


def processes(text: str) -> int:
    """How many processes run on this machine."""
    if text.isdigit() and int(text) > 0:
        return int(text)
    if text == "cpu":
        return os.cpu_count() or 1
    if text in ("auto", "gpu"):
        from ...accelerator import device_count

        count = device_count()
        if text == "gpu" and not count:
            raise ValueError("Cuda is not available.")
        return count or os.cpu_count() or 1
    raise ValueError(f"Unsupported nproc_per_node value: {text}")


def config_of(text: str) -> dict[str, str]:
    """The settings of ``--rdzv-conf``.

    Raises:
        ValueError: a setting has no value.
    """

    def fault(key: str) -> NoReturn:
        raise ValueError(f"The rendezvous configuration option '{key}' must have a value specified.")

    settings = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (part.strip() for part in each.partition("="))
        if not key:
            raise ValueError(
                "The rendezvous configuration string must be in format <key1>=<value1>,...,<keyN>=<valueN>."
            )
        settings[key] = value or fault(key)
    return settings
