"""Records PyTorch's modules, and of what kind each name in them is, into torchlike/_alias/pytorch_modules.json.xz.

`python -m tests.golden.record_modules`, with PyTorch installed. Under `python -m torchlike`, stand-ins take the place of names that
PyTorch has and torchlike lacks. The kinds recorded here decide what they do; see `torchlike/_alias/stand_ins.py`.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import functools
import importlib
import inspect
import io
import json
import lzma
import os
import pkgutil
import signal
import sys
import tempfile
import types
import typing
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 0, "pb": 0}]  # for text
# Of what the file holds: found by trying, it takes the least room.
ORDER = (
    "all", "function", "modules", "version", "decorator", "class", "error", "enum", "value", "thing", "type", "factory", "public", "from",
    "module",
)  # fmt: skip
FILE = Path(__file__).parents[2] / "torchlike" / "_alias" / "pytorch_modules.json.xz"
# Of these only the names of modules are recorded: PyTorch's own tests, its compiler, and modules that no program imports from.
CLOSED = (
    "torch._C._dynamo", "torch._decomp", "torch._dynamo", "torch._export", "torch._functorch", "torch._higher_order_ops",
    "torch._inductor", "torch._lazy", "torch._meta_registrations", "torch._native", "torch._numpy", "torch._prims",
    "torch._prims_common", "torch._refs", "torch._strobelight", "torch._subclasses.complex_tensor", "torch._subclasses.fake_impls",
    "torch._subclasses.meta_utils", "torch._vendor", "torch.ao.nn.sparse", "torch.ao.ns", "torch.ao.pruning",
    "torch.ao.quantization._correct_bias", "torch.ao.quantization._equalize", "torch.ao.quantization.fx", "torch.ao.quantization.pt2e",
    "torch.cuda._memory_viz", "torch.cuda._sanitizer", "torch.distributed._local_tensor", "torch.distributed._pycute",
    "torch.distributed._sharding_spec", "torch.distributed._symmetric_memory", "torch.distributed._tools",
    "torch.distributed.benchmarks", "torch.distributed.checkpoint._async_executor",
    "torch.distributed.checkpoint._async_process_executor", "torch.distributed.checkpoint._async_thread_executor",
    "torch.distributed.checkpoint._checkpointer", "torch.distributed.checkpoint._consolidate_hf_safetensors",
    "torch.distributed.checkpoint._dedup_save_plans", "torch.distributed.checkpoint._dedup_tensors",
    "torch.distributed.checkpoint._experimental", "torch.distributed.checkpoint._extension",
    "torch.distributed.checkpoint._fsspec_filesystem", "torch.distributed.checkpoint._hf_utils",
    "torch.distributed.checkpoint._nested_dict", "torch.distributed.checkpoint._pg_transport",
    "torch.distributed.checkpoint._sharded_tensor_utils", "torch.distributed.checkpoint._state_dict_stager",
    "torch.distributed.checkpoint._storage_utils", "torch.distributed.checkpoint._traverse", "torch.distributed.checkpoint._version",
    "torch.distributed.debug", "torch.distributed.elastic.timer",
    "torch.distributed.flight_recorder", "torch.distributed.fsdp._init_utils", "torch.distributed.fsdp._optim_utils",
    "torch.distributed.fsdp._state_dict_utils", "torch.distributed.pipelining", "torch.distributed.pipelining._backward",
    "torch.distributed.rpc", "torch.distributed.tensor._dispatch", "torch.distributed.tensor._ops", "torch.distributed.tensor.debug",
    "torch.distributed.tensor.experimental._context_parallel", "torch.distributed.tensor.experimental._tp_transform",
    "torch.export._remove_auto_functionalized_pass", "torch.export._remove_effect_tokens_pass", "torch.export._safeguard",
    "torch.export._swap", "torch.export._trace", "torch.export._tree_utils", "torch.export._unlift", "torch.export._wrapper",
    "torch.export.pt2_archive", "torch.fx.experimental.graph_gradual_typechecker", "torch.fx.experimental.migrate_gradual_types",
    "torch.fx.experimental.sym_node", "torch.fx.experimental.unification", "torch.fx.experimental.validator",
    "torch.jit._monkeytype_config", "torch.jit._recursive", "torch.jit._shape_functions", "torch.jit.frontend",
    "torch.nested._internal", "torch.onnx._internal", "torch.onnx.symbolic_opset10", "torch.onnx.symbolic_opset12",
    "torch.onnx.symbolic_opset13", "torch.onnx.symbolic_opset14", "torch.onnx.symbolic_opset15", "torch.onnx.symbolic_opset16",
    "torch.onnx.symbolic_opset17", "torch.onnx.symbolic_opset18", "torch.onnx.symbolic_opset19", "torch.onnx.symbolic_opset20",
    "torch.onnx.symbolic_opset7", "torch.onnx.symbolic_opset8", "torch.package", "torch.profiler._memory_profiler",
    "torch.profiler._pattern_matcher", "torch.sparse._triton_ops", "torch.testing._internal", "torch.utils._config_module",
    "torch.utils._debug_mode", "torch.utils._sympy", "torch.utils.benchmark.examples", "torch.utils.benchmark.utils.valgrind_wrapper",
    "torch.utils.hipify",
)  # fmt: skip
# Modules within these of which programs import something.
OPEN = frozenset(
    f"torch.{package}{name and '.'}{name}"
    for package, names in (
        ("_dynamo", "backends backends.common backends.registry callback comptime config decorators eval_frame exc external_utils logging "
         "mutation_guard utils"),
        ("_export", "config converter error non_strict_utils utils wrappers"),
        ("_functorch", "aot_autograd apis autograd_function batch_norm_replacement compilers config deprecated eager_transforms "
         "functional_call make_functional pyfunctorch python_key utils vmap"),
        ("_higher_order_ops", "associative_scan auto_functionalize cond flex_attention hints_wrap map out_dtype scan strict_mode torchbind "
         "triton_kernel_wrap utils while_loop wrap"),
        ("_inductor", "compile_fx config utils"),
        ("_lazy", ""),
        ("distributed.pipelining", "schedules stage microbatch"),
        ("distributed.rpc", "api backend_registry functions options constants"),
        ("package", "package_exporter package_importer importer"),
        ("nested._internal", ""),
    )
    for name in ("", *names.split())
)  # fmt: skip


# Names in inner modules that libraries use, by module: `python -m tests.libraries.names --record` writes them.
USED = {
    line.split()[0]: frozenset(line.split()[1:])
    for line in (Path(__file__).parent / "inner_names.txt").read_text(encoding="utf-8").splitlines()
}


def is_closed(module: str) -> bool:
    return module not in OPEN and any(f"{module}.".startswith(f"{each}.") for each in CLOSED)


def modules(package: str, path: Any) -> Iterator[str]:
    """Returns the names of all modules below a package, each imported if possible."""
    for found in pkgutil.iter_modules(path):
        name = f"{package}.{found.name}"
        if found.name in ("__main__", "conftest") or name.startswith("torch.testing._internal."):
            continue
        yield name
        if is_recorded(name):
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)
        if found.ispkg:
            spec: Any = found.module_finder.find_spec(found.name, None)  # pyright: ignore[reportCallIssue]
            yield from modules(name, spec.submodule_search_locations)


# ---- the kind of a name


def is_pytorchs(value: Any) -> bool:
    """Whether a class or function is PyTorch's own. Many from its C++ extension claim to be Python's."""
    return (getattr(value, "__module__", None) or "torch").split(".")[0] in ("torch", "builtins") and getattr(
        builtins, getattr(value, "__name__", ""), None
    ) is not value


def kind_of(value: Any) -> Any:
    """Returns the kind of a value, as `torchlike/_alias/stand_ins.py` defines it, or None if it is not recorded."""
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__) if value.__name__.startswith("torch") else None
    if isinstance(value, type):
        if not is_pytorchs(value):
            return None
        if members := enum_members(value):
            return "enum", " ".join(members)
        if issubclass(value, BaseException):
            return "error", next(each.__name__ for each in value.__mro__ if each.__module__ == "builtins")
        return "class", None
    if isinstance(value, (bool, int, float, type(None))):
        return "value", value
    if isinstance(value, str):
        return ("value", value) if len(value) < 40 and "/" not in value else None
    if typing.get_origin(value) is not None or (type(value).__module__ in ("typing", "types") and not callable(value)):
        return "type", None
    if callable(value):
        return ("function", None) if is_pytorchs(value) else None
    return ("thing", None) if type(value).__module__.startswith("torch") else None


def enum_members(value: type) -> list[str]:
    if issubclass(value, enum.Enum):
        return list(value.__members__)
    members = vars(value).get("__members__") if "pybind11" in type(value).__name__ else None
    return list(value.__members__) if members is not None else []  # pyright: ignore[reportAttributeAccessIssue]


# More private names in private files that programs import.
IMPORTED = {
    "torch._C._functorch": "_add_batch_dim _remove_batch_dim _unwrap_batched _vmap_decrement_nesting _vmap_increment_nesting",
    "torch._functorch.vmap": """_add_batch_dim _as_tuple _broadcast_to_and_flatten _create_batched_inputs _get_name
        _maybe_remove_batch_dim _process_batched_inputs _remove_batch_dim _unwrap_batched _validate_and_get_batch_size""",
    "torch._functorch.eager_transforms": "_autograd_grad _slice_argnums",
    "torch.utils.data._utils.worker": "_worker_loop",
    "torch.utils.data._utils.fetch": "_BaseDatasetFetcher _IterableDatasetFetcher _MapDatasetFetcher",
    # by PyTorch's own test files
    "torch._prims_common": "corresponding_complex_dtype",
    "torch.nested._internal.nested_int": "NestedIntNode",
    "torch.nested._internal.nested_tensor": """NestedTensor ViewNestedFromBuffer buffer_from_jagged jagged_from_list
        nested_view_from_values_offsets""",
}


@functools.cache
def imported_by_tests() -> dict[str, frozenset[str]]:
    """The names of other modules that PyTorch's harness for tests imports or derives from, which its test files import in turn."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in (Path(torch.__file__).parent / "testing" / "_internal").glob("*.py"):
        try:
            body = ast.parse(file.read_text("utf-8")).body
        except SyntaxError:  # of a newer Python
            continue
        for node in body:
            if isinstance(node, ast.ImportFrom) and not node.level:
                found[node.module or ""].update(each.name for each in node.names)
            for base in map(ast.unparse, node.bases if isinstance(node, ast.ClassDef) else ()):
                module, _, name = base.rpartition(".")
                found[module].add(name)
    return {module: frozenset(names) for module, names in found.items() if module.startswith("torch.")}


def is_used(module: str, name: str) -> bool:
    """Whether libraries, programs or PyTorch's tests are known to use a name, however deep inside it is."""
    listed_by_hand = name in IMPORTED.get(module, "").split()
    return listed_by_hand or name in USED.get(module, ()) or name in imported_by_tests().get(module, ())


def is_recorded(module: str) -> bool:
    """Whether names of a module are recorded, all of them or those that are used."""
    return not is_closed(module) or module in USED or module in IMPORTED or module in imported_by_tests()


def is_inner(module: Any, name: str) -> bool:
    """Whether a name is private to a private module, so deep inside that no program uses it."""
    if is_used(module.__name__, name):
        return False
    package, *inner = module.__name__.split(".")[1:] or [""]
    deep = package.startswith("_") and package != "_C" and bool(inner)
    return name.startswith("_") and (deep or (package != "distributed" and is_inner_file(module)))


def is_inner_file(module: Any) -> bool:
    """Whether a module is a private file in a package, or a file in a private package: nobody imports from it what others define."""
    _, *inner = module.__name__.split(".")[1:] or [""]
    return not hasattr(module, "__path__") and any(part.startswith("_") for part in inner)


def listed(module: Any) -> dict[str, tuple[str, Any]]:
    """Returns the names of a module with their kinds. A name from another module of PyTorch has the kind ("from", its address).

    Of a closed module these are the names that libraries use.
    """
    found = {}
    closed = is_closed(module.__name__)
    for name, value in list(vars(module).items()):
        if closed and not is_used(module.__name__, name):
            continue
        if name.startswith("__") or name == "TYPE_CHECKING" or not name.isidentifier() or is_inner(module, name):
            continue
        kind = kind_of(value)
        hidden = name.startswith("_") and not is_used(module.__name__, name)
        if kind is None or (hidden and kind[0] in ("value", "type", "thing")):
            continue
        named = kind[0] in ("class", "enum", "error", "function")
        home, own = (getattr(value, "__module__", None), getattr(value, "__name__", name)) if named else (None, name)
        if home not in (None, module.__name__):
            there = sys.modules.get(home) if home.startswith("torch") else None
            # A name that its home hides is recorded where it is imported: ``torch.jit._script_if_tracing``, by torchvision.
            if there is not None and vars(there).get(own) is value and not is_closed(home) and not is_inner(there, own):
                if is_inner_file(module) and not is_used(module.__name__, name):
                    continue
                kind = "from", f"{home}.{own}"
            elif name.startswith("_") and home == "builtins":
                continue
        elif kind[0] == "module" and kind[1] == f"{module.__name__}.{name}":
            continue  # the list of modules has it
        found[name] = kind
    return found


# ---- decorators: a process of its own calls each function


received: list[Any] = []


def probe(x: Any = None) -> Any:
    """The function or class to decorate."""
    received.append(x)
    return x


def decorates(result: Any) -> bool:
    return result is probe or (
        (getattr(result, "__wrapped__", None) is probe or getattr(result, "__name__", "") == "probe")
        and not transforms(result)
    )


def transforms(decorated: Any) -> bool:
    """Whether the decorated function gets or gives something else than it is called with, as under ``vmap`` and ``grad``.

    Such a decorator has no stand-in that returns the function as it is: the numbers would be others.
    """
    given = torch.tensor([3.0, 4.0])
    received.clear()
    try:
        result = decorated(given)
    except Exception:
        return bool(received) and received[0] is not given
    return bool(received) and (received[0] is not given or result is not given)


def how_it_decorates(function: Any) -> str | None:
    """ "decorator" if a call with a function returns one, "factory" if a call with something else, or nothing, returns a decorator."""
    try:
        required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind < 2]
    except (TypeError, ValueError):
        return None
    if len(required) <= 1:
        with contextlib.suppress(Exception, SystemExit):
            names: dict[str, Any] = {"function": function, "probe": probe}
            exec("made = function(probe)", names)  # at module level, where some decorators must be called
            if decorates(names["made"]):
                return "decorator"
    for arguments in ((), ("x",)) if len(required) <= 1 else ():
        with contextlib.suppress(Exception, SystemExit):
            made = function(*arguments)
            if isinstance(made, types.FunctionType) and decorates(made(probe)):
                return "factory"
    return None


def try_each(module: str, names: list[str], write: int) -> typing.NoReturn:
    """Prints of each function how it decorates; ends the process whatever they do."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.chdir(tempfile.mkdtemp())
        for name in names:
            signal.alarm(2)
            how = how_it_decorates(getattr(sys.modules[module], name))
            os.write(write, f"{name} {how}\n".encode())
    finally:
        os._exit(0)


def decorators(module: str, names: list[str]) -> dict[str, str]:
    """Returns the decorators among a module's functions. A function that hangs or ends the process is not one."""
    found: dict[str, str] = {}
    while names:
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            try_each(module, names, write)
        os.close(write)
        with os.fdopen(read) as said:
            rows = [line.split() for line in said]
        os.waitpid(child, 0)
        found |= {name: how for name, how in rows if how != "None"}
        names = names[len(rows) + 1 :]  # skips the one that did not answer
    return found


def everything() -> dict[str, Any]:
    warnings.simplefilter("ignore")
    every = ["torch", *sorted(modules("torch", torch.__path__))]
    extra = sorted(
        name
        for name in sys.modules
        if name.startswith("torch.") and name not in every and not name.startswith("torch.testing._internal.")
    )
    result: dict[str, Any] = {}
    for name in sorted({*every, *extra}):
        module = sys.modules.get(name)
        kinds: dict[str, Any] = defaultdict(list)
        if module is not None and is_recorded(name):
            rows = listed(module)
            how = decorators(name, [each for each, kind in rows.items() if kind[0] == "function"])
            for each, (kind, more) in rows.items():
                kind = how.get(each, kind)
                if kind in ("enum", "error", "value", "module"):
                    kinds.setdefault(kind, {})[each] = more
                elif kind == "from":
                    home, _, own = more.rpartition(".")
                    kinds.setdefault(kind, {}).setdefault(home, []).append(each if own == each else f"{each}={own}")
                else:
                    kinds[kind].append(each)
        result[name] = {kind: pack(value) for kind, value in kinds.items()}
    result["torch"]["all"] = " ".join(sorted(torch.__all__))
    return result


def pack(value: Any) -> Any:
    """Joins names to one string, in alphabetical order, which takes the least room."""
    if isinstance(value, list):
        return " ".join(sorted(value))
    if all(isinstance(each, list) for each in value.values()):
        return {key: pack(value[key]) for key in sorted(value)}
    return dict(sorted(value.items()))


def short(module: str) -> str:
    """A module within the one before it: ``..nn`` for ``torch.cuda.nn``."""
    return "." * module.count(".") + module.rpartition(".")[2]


def line(row: Any) -> str:
    """A module's names of a kind as ``names.py`` reads them: ``a b``, or ``a:b c: d e`` of names with something that stands after each."""
    return row if isinstance(row, str) else " ".join([f"{name}:{each}" for name, each in row.items()])


def packed(found: dict[str, Any]) -> bytes:
    """The file: the names of all modules, then for each kind what each module has of it; values, which have types, as they are, or 0."""
    kinds = {kind for rows in found.values() for kind in rows}
    by_kind = {
        kind: [rows.get(kind, 0) for rows in found.values()]
        if kind == "value"
        else ";".join([line(rows.get(kind, "")) for rows in found.values()])
        for kind in kinds
    }
    recorded = json.loads(lzma.decompress(FILE.read_bytes()))
    public = {key: recorded[key] for key in ("public", "version")}  # by record_names.py
    content = {"modules": " ".join(map(short, found)), **by_kind, **public}
    content = dict(sorted(content.items(), key=lambda item: ORDER.index(item[0])))
    text = json.dumps(content, separators=(",", ":"))
    return lzma.compress(text.encode(), filters=FILTERS)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # some modules write files where they are imported
    found = everything()
    FILE.write_bytes(packed(found))
    print(f"{len(found)} modules, {FILE.stat().st_size} bytes")
