"""torch.distributed.fsdp.wrap: which modules of a model are wrapped, each by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...modules.container import ModuleDict, ModuleList
from ...modules.module import Module

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


def always_wrap_policy(*args: object, **kwargs: object) -> bool:
    """The policy that wraps every module."""
    return True


class _Policy:
    """A policy that looks at the whole model."""

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, object]
    ) -> dict[Module, dict[str, object]]:
        """The modules to wrap, with the arguments of the wrapper."""
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Wraps the modules of some classes.

    Args:
        module_classes: the classes.

    >>> policy = torch.distributed.fsdp.wrap.ModuleWrapPolicy({torch.nn.Linear})
    >>> policy(torch.nn.Linear(2, 2), recurse=False)
    True

    Source: https://docs.pytorch.org/docs/stable/fsdp.html
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        classes = set(module_classes)
        self._module_classes = classes
        self._module_classes_str = str(classes)

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, object]
    ) -> dict[Module, dict[str, object]]:
        classes = tuple(self._module_classes)
        return {
            module: dict(root_kwargs)
            for module in root_module.modules()
            if module not in ignored_modules and isinstance(module, classes)
        }

    def __call__(self, module: object, recurse: bool, *args: object, **kwargs: object) -> bool:
        """Whether to go on to the submodules, with ``recurse``, or to wrap the module."""
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return super().__repr__() + f"({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Asks a function for each module: it returns whether to wrap it, or the arguments with which to wrap it.

    Args:
        lambda_fn: the function.

    Raises:
        ValueError: the function returns something else.

    Source: https://docs.pytorch.org/docs/stable/fsdp.html
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, object]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: dict[str, object]
    ) -> dict[Module, dict[str, object]]:
        found: dict[Module, dict[str, object]] = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            answer = self._lambda_fn(module)
            if not isinstance(answer, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                    f"{answer}"
                )
            if answer is False or answer == {}:
                continue
            found[module] = root_kwargs | (answer if isinstance(answer, dict) else {})
        return found


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """The policy that wraps the modules for which a function returns True."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: object, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """The policy that wraps the layers of a transformer, whose classes are given."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """The policy that wraps a module if one of several does."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: object,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """The policy that wraps modules with at least so many elements in parameters that are not wrapped yet.

    Args:
        min_num_params: how many elements.
        force_leaf_modules: classes whose submodules are not wrapped, by default ``nn.MultiheadAttention``.
        exclude_wrap_modules: classes that are not wrapped, by default ``nn.ModuleList`` and ``nn.ModuleDict``.
    """
    leaves = size_based_auto_wrap_policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # pyright: ignore[reportFunctionMemberAccess]
    excluded = (
        size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules  # pyright: ignore[reportFunctionMemberAccess]
    )
    is_large = nonwrapped_numel >= min_num_params
    if recurse:
        return is_large and not isinstance(module, tuple(leaves))
    return is_large and not isinstance(module, tuple(excluded))


def _defaults() -> None:
    from ...modules.multihead import MultiheadAttention

    size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # pyright: ignore[reportFunctionMemberAccess]
    size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # pyright: ignore[reportFunctionMemberAccess]


_defaults()


# ---- wrapping by hand


class _Settings:
    wrapper: Callable[..., Module] | None = None
    kwargs: dict[str, object] = {}


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Module], **wrapper_kwargs: object) -> Iterator[None]:
    """A context in which ``wrap`` wraps modules by a class with these arguments."""
    before = _Settings.wrapper, _Settings.kwargs
    _Settings.wrapper, _Settings.kwargs = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Settings.wrapper, _Settings.kwargs = before


def wrap(module: Module, **wrap_overrides: object) -> Module:
    """Wraps a module as the surrounding ``enable_wrap`` says; outside of one it returns the module."""
    if _Settings.wrapper is None:
        return module
    return _Settings.wrapper(module, **_Settings.kwargs | wrap_overrides)


# ---- wrapping by a policy


def auto_wrap(
    root: Module, policy: object, wrapper: Callable[..., Module], ignored: set[Module], kwargs: dict[str, object]
) -> None:
    """Wraps the submodules of a module that a policy names. The module itself is not wrapped."""
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(root, ignored, kwargs)
        _wrap_chosen(root, {module: each for module, each in chosen.items() if module is not root}, wrapper, {})
        return
    if not callable(policy):
        raise ValueError(f"Expected auto_wrap_policy to be a callable or a policy, but got {type(policy)}")
    excluded = {id(parameter) for module in ignored for parameter in module.parameters()}
    decide: Callable[..., Any] = policy
    _wrap_recursively(root, decide, lambda module: wrapper(module, **kwargs), ignored, excluded, True)


def _wrap_chosen(
    module: Module,
    chosen: dict[Module, dict[str, object]],
    wrapper: Callable[..., Module],
    done: dict[Module, Module],
) -> None:
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        if child not in done:
            # From the inside out: the outer module then has what the inner ones leave.
            _wrap_chosen(child, chosen, wrapper, done)
            done[child] = wrapper(child, **chosen[child]) if child in chosen else child
        if done[child] is not child:
            setattr(module, name, done[child])


def _wrap_recursively(
    module: Module,
    policy: Callable[..., bool],
    wrapped: Callable[[Module], Module],
    ignored: set[Module],
    excluded: set[int],
    only_children: bool = False,
) -> tuple[Module, int]:
    """Returns the module, wrapped where the policy says so, and how many elements of its parameters are wrapped."""
    count = sum(parameter.numel() for parameter in module.parameters() if id(parameter) not in excluded)
    if not policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    total = 0
    for name, child in list(module._modules.items()):
        if child is None or child in ignored:
            continue
        replacement, number = _wrap_recursively(child, policy, wrapped, ignored, excluded)
        setattr(module, name, replacement)
        total += number
    if not only_children and policy(module=module, recurse=False, nonwrapped_numel=count - total):
        return wrapped(module), count
    return module, total
