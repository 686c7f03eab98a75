"""torch._logging: the levels of PyTorch's loggers. They change nothing, since torchlike has no compilers that write to these loggers."""

from __future__ import annotations

import logging

__all__ = ["set_logs"]

# PyTorch's names for parts of itself, and the loggers they stand for.
_LOGGERS = {
    "all": ["torch"], "dynamo": ["torch._dynamo"], "aot": ["torch._functorch.aot_autograd"], "autograd": ["torch.autograd"],
    "dynamic": ["torch.fx.experimental.symbolic_shapes"], "inductor": ["torch._inductor"], "distributed": ["torch.distributed"],
    "ddp": ["torch.nn.parallel.distributed"], "fsdp": ["torch.distributed.fsdp"], "dtensor": ["torch.distributed._tensor"],
    "onnx": ["torch.onnx"], "export": ["torch.export"], "benchmark": ["torch.utils.benchmark"],
}  # fmt: skip


def set_logs(*, modules: dict[str, int | bool] | None = None, **parts: int | bool | None) -> None:
    """Sets the levels of PyTorch's loggers by the names of its parts. What has no level there, such as ``graph_breaks``, is a switch.

    Nothing is written to any of them here: ``torch.explain()`` tells what was compiled, and why.

    Raises:
        ValueError: a level is none.
    """
    for name, level in {**parts, **(modules or {})}.items():
        if level is None:
            continue
        if not isinstance(level, (int, bool)):
            raise ValueError(f"set_logs: the level of {name} must be an integer or a bool, not {level!r}")
        if not isinstance(level, bool):
            for logger in _LOGGERS.get(name, [name] if modules and name in modules else []):
                logging.getLogger(logger).setLevel(level)
