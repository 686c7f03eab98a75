"""What every test runs under: strict JAX, eight CPU devices, fresh process-wide choices."""

import os

# Before JAX is imported: it reads both once.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()

import jax
import pytest

# Stricter than use: torchlike promotes dtypes itself, by PyTorch's rules, and must never lean on JAX's.
# Only here; the package sets no JAX option (tests/api/test_import.py).
jax.config.update("jax_numpy_dtype_promotion", "strict")


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
