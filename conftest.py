"""What every test runs under: strict JAX, eight CPU devices, fresh process-wide choices."""

import contextlib
import os
import shutil
from pathlib import Path

# Before JAX is imported: it reads both once.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()

import jax
import pytest

# Stricter than use: torchlike promotes dtypes itself, by PyTorch's rules, and must never lean on JAX's.
# Only here; the package sets no JAX option (tests/api/test_import.py).
jax.config.update("jax_numpy_dtype_promotion", "strict")


def pytest_configure(config):
    """Keeps what was compiled for later runs: the one op by op needs the executables of the one before it.

    JAX's cache does not expect two processes to write to it, so each has a folder of its own, which begins with links to what those
    have left that have ended. ``--cache-clear`` forgets them.
    """
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return
    folder = Path(config.cache.mkdir("compiled"))
    left = folder / "left"
    left.mkdir(exist_ok=True)
    if not hasattr(config, "workerinput"):  # before any worker is started
        for own in folder.glob("of-[0-9]*"):
            if not _alive(int(own.name.removeprefix("of-"))):
                _link_all(own, left)
                shutil.rmtree(own, ignore_errors=True)
    own = folder / f"of-{os.getpid()}"
    own.mkdir(exist_ok=True)
    _link_all(left, own)
    jax.config.update("jax_compilation_cache_dir", str(own))
    jax.config.update(
        "jax_persistent_cache_enable_xla_caches", "none"
    )  # their folder's name would be part of every key
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


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
