"""What every test runs under: strict JAX, eight CPU devices, fresh process-wide choices; one mode of the engine, or all three."""

import contextlib
import gc
import math
import os
import shutil
import zlib
from collections import defaultdict
from pathlib import Path

# Before JAX is imported: it and OpenMP read these once.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# There are as many test processes as cores. The threads of OpenMP (oneDNN's, PyTorch's) would spin while they wait for each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["TORCHLIKE_CACHE_DIR"] = ""  # the tests' own cache is JAX's, see below
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()

import jax
import pytest

# Stricter than use: torchlike promotes dtypes itself, by PyTorch's rules, and must never lean on JAX's.
# Only here; the package sets no JAX option (tests/api/test_import.py).
jax.config.update("jax_numpy_dtype_promotion", "strict")


TURNS = 6


def pytest_addoption(parser):
    parser.addoption(
        "--every-mode",
        action="store_true",
        help="run each test in each mode that can show something: steps compiled whole, each op compiled by itself, nothing compiled",
    )
    parser.addoption(
        "--each-once",
        action="store_true",
        help="run each test in one mode, nothing compiled if that shows something, and one in thirty of these compiled as well; of tests"
        " that are costly a quarter of the cases",
    )
    parser.addoption(
        "--turn",
        type=int,
        choices=range(TURNS),
        help=f"with --every-mode: of tests that run with nothing compiled, run one in {TURNS} in the other modes too, and as many cases of"
        " costly tests, at each turn others",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="with --every-mode: also in those modes that show little that others do not, which takes twice the time",
    )
    parser.addoption(
        "--tenth",
        action="store_true",
        help="run one test in ten, the same ones everywhere: enough to see that an installed package works",
    )
    parser.addoption(
        "--quick-compile",
        action="store_true",
        help="compile by XLA's older emitters where it has them still (JAX 0.10): they take half the time",
    )
    parser.addoption(
        "--golden",
        metavar="FOLDER",
        help="read golden files from this folder, where PyTorch has just written them, and run the tests that compare with PyTorch",
    )


MODES = ("traced", "eager", "interpreted")
# Tests of operators, layers and what is made of them compare with a tolerance. For these --quick-compile leaves LLVM's optimizations out
# too, which takes a third of the time. Tests of the engine compare bits of programs.
BY_TOLERANCE = ("single", "composed")


def is_near_enough(node):
    """Whether a test can be compiled without optimizations."""
    return any(map(node.get_closest_marker, BY_TOLERANCE)) and not node.get_closest_marker("optimized")


def modes_of(node):
    """The modes that can show something about a test, by its markers."""
    thorough = node.config.getoption("thorough")
    if node.get_closest_marker("recorded"):
        return ["traced"]
    if node.get_closest_marker("uncompiled") and not thorough:
        return ["interpreted"]
    alone = node.get_closest_marker("composed") or (node.get_closest_marker("single") and not thorough)
    return [mode for mode in MODES if mode != "eager" or not alone]


@pytest.hookimpl(trylast=True)  # after a test's own parameters, so that its modes stand side by side
def pytest_generate_tests(metafunc):
    if metafunc.config.getoption("every_mode"):
        metafunc.parametrize("engine_mode", modes_of(metafunc.definition), indirect=True)
    elif metafunc.config.getoption("each_once"):
        modes = [mode for mode in modes_of(metafunc.definition) if mode != "eager"]
        metafunc.parametrize("engine_mode", modes[::-1], indirect=True)


# With --each-once, one in so many tests that need not be compiled is compiled as well, and of the cases of a costly test as few run. Which,
# their names decide, so that these are the same tests everywhere, and spread over all of them.
COMPILED_ONE_IN = 30
COSTLY_ONE_IN = 4
COSTLY_AT_LEAST = 2


def pytest_collection_modifyitems(config, items):
    if config.getoption("tenth"):
        _leave_out(config, items, {item for item in items if zlib.crc32(item.nodeid.encode()) % 10})
    if config.getoption("each_once"):
        _leave_out(config, items, _repeating(items))
    if config.getoption("every_mode") and config.getoption("turn") is not None:
        _leave_out(config, items, _at_other_turns(items, config.getoption("turn")))


def _leave_out(config, items, others):
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]


def _at_other_turns(items, turn):
    """What --turn leaves out: but for one turn's, tests in other modes that run with nothing compiled, and cases of costly tests."""
    others, costly = set(), defaultdict(list)
    for item in items:
        mode = item.callspec.params["engine_mode"]
        if mode != "interpreted" and "interpreted" in modes_of(item):
            if zlib.crc32(item.nodeid.replace(mode, "").encode()) % TURNS != turn:
                others.add(item)
        elif item.get_closest_marker("costly"):
            costly[item.nodeid.partition("[")[0]].append(item)
    for cases in costly.values():
        turns = min(TURNS, len(cases))  # each turn has a case
        cases.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        others.update(item for number, item in enumerate(cases) if number % turns != turn % turns)
    return others


def _repeating(items):
    """What --each-once leaves out."""
    others, costly = set(), defaultdict(list)
    for item in items:
        name = item.nodeid.replace("traced", "interpreted")
        also = item.callspec.params["engine_mode"] == "traced" and len(modes_of(item)) > 1
        if also and zlib.crc32(name.encode()) % COMPILED_ONE_IN:
            others.add(item)
        elif item.get_closest_marker("costly"):
            costly[item.nodeid.partition("[")[0]].append(item)
    for cases in costly.values():
        cases.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        others.update(cases[max(COSTLY_AT_LEAST, math.ceil(len(cases) / COSTLY_ONE_IN)) :])
    return others


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collects the tests with the garbage collector at rest, and lets it run seldom after: it walks a million objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def pytest_configure(config):
    if config.getoption("quick_compile"):  # XLA reads it when the first device is asked for
        os.environ["XLA_FLAGS"] += (
            " --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"
            " --xla_cpu_parallel_codegen_split_count=1"  # a tenth less than in 32 parts, which other threads would compile
        )
    _keep_what_is_compiled(config)


# So many compiled programs are kept for later runs. The whole suite compiles some 20,000, of about 8 kB each.
KEPT_PROGRAMS = 60_000


def _keep_what_is_compiled(config):
    """Keeps what was compiled for later runs: with pytest's cache, or in the folder that TORCHLIKE_TEST_CACHE names.

    JAX's cache does not expect two processes to write to it, so each has a folder of its own, which begins with links to what those
    have left that have ended. ``--cache-clear`` forgets what lies with pytest's cache.
    """
    chosen = os.environ.get("TORCHLIKE_TEST_CACHE")
    if not chosen and not config.pluginmanager.has_plugin("cacheprovider"):
        return
    folder = Path(chosen or config.cache.mkdir("compiled"))
    left = folder / "left"
    left.mkdir(parents=True, exist_ok=True)
    if not hasattr(config, "workerinput"):  # before any worker is started
        for own in folder.glob("of-[0-9]*"):
            if not _alive(int(own.name.removeprefix("of-"))):
                _link_all(own, left)
                shutil.rmtree(own, ignore_errors=True)
        _forget_the_oldest(left)
    own = folder / f"of-{os.getpid()}"
    own.mkdir(exist_ok=True)
    _link_all(left, own)
    jax.config.update("jax_compilation_cache_dir", str(own))
    jax.config.update(
        "jax_persistent_cache_enable_xla_caches", "none"
    )  # their folder's name would be part of every key
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _forget_the_oldest(folder):
    programs = sorted((file.stat().st_mtime, file) for file in folder.iterdir())
    for _, file in programs[:-KEPT_PROGRAMS]:
        file.unlink(missing_ok=True)


def _alive(process):
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _link_all(source, target):
    for file in source.iterdir():
        with contextlib.suppress(OSError):  # there already, or just taken away by another run
            if file.stat().st_size:
                os.link(file, target / file.name)


def pytest_runtest_logfinish(nodeid, location):
    """Now and then takes what has come to stay, traces and kernels, out of the collector's sight: it walks a million objects."""
    global finished
    finished += 1
    if finished % 500 == 1:
        gc.collect()
        gc.freeze()


finished = 0


@pytest.fixture(autouse=True)
def engine_mode(request):
    """The mode in which the test runs, in this thread, in those it starts and in its processes.

    ``traced``: what is recorded is compiled whole at first sight. ``eager``: each op runs at once, by an executable of its own.
    ``interpreted``: nothing is compiled that NumPy can compute. ``auto``: as for users, who get the others by turns.
    """
    from torchlike.engine import compiling, recorder, set_op_by_op
    from torchlike.engine.executable import COMPILER_OPTIONS

    own, modes = recorder().op_by_op, modes_of(request.node)
    mode = getattr(request, "param", os.environ.get("TORCHLIKE_TEST_MODE", "eager" if own else modes[0]))
    if ("interpreted" if mode == "auto" else mode) not in modes:
        pytest.skip(f"{mode} mode can show nothing that others do not")
    choice = {"interpreted": "never", "auto": "auto"}.get(mode, "now")
    with pytest.MonkeyPatch.context() as patch, compiling(choice):
        if request.config.getoption("quick_compile") and is_near_enough(request.node):
            patch.setitem(COMPILER_OPTIONS, "xla_backend_optimization_level", 0)
        patch.setenv("TORCHLIKE_OP_BY_OP", str(int(mode == "eager")))
        patch.setenv("TORCHLIKE_COMPILE", choice)
        set_op_by_op(mode == "eager")
        yield mode
    set_op_by_op(own)


@pytest.fixture
def op_by_op(engine_mode):
    """Whether each op runs at once."""
    return engine_mode == "eager"


@pytest.fixture(autouse=True)
def fresh():
    """Gives each test PyTorch's defaults and one seed, so that no test depends on those before it."""
    import torchlike as torch

    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
