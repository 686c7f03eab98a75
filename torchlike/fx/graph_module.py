"""GraphModule: a module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from pathlib import Path
from typing import Any, Self

from .._core.signatures import Kwargs
from .._core.tensor import Tensor
from ..nn import Module
from ._codegen import PythonCode
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


# Traces a module with all modules within it as leaves. A higher layer sets it: see ``_symbolic_trace.py``.
retrace: Any = None


def _forward_from_src(src: str, globals: Kwargs, co_fields: object = None) -> Any:
    """Compiles the code of a graph. Python finds its lines for tracebacks under a name of its own."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = len(src), None, src.splitlines(True), file
    scope = dict(globals)
    exec(compile(src, file, "exec"), scope)
    return scope["forward"]


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Copies an attribute from one module to another, at the same path."""
    *prefix, field = target.split(".")
    for item in prefix:
        from_module, below = getattr(from_module, item), getattr(to_module, item, None)
        if below is from_module:
            return
        if below is None:
            below = Module()
            setattr(to_module, item, below)
        to_module = below
    value = getattr(from_module, field)
    if isinstance(value, Tensor) and not isinstance(value, _parameter()):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _parameter() -> type:
    from ..nn import Parameter

    return Parameter


def _assign_attr(from_obj: object, to_module: Module, target: str) -> None:
    """Sets an attribute at a path in a module."""
    *prefix, field = target.split(".")
    for item in prefix:
        below = getattr(to_module, item, None)
        if below is None:
            below = Module()
            setattr(to_module, item, below)
        to_module = below
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, _parameter()):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


class _CodeOnlyModule(Module):
    """A module that has code and attributes, and is traced anew."""

    def __init__(self, body: Kwargs) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[Any, Any], import_block: str = "") -> Module:
    """Makes a GraphModule from what its pickle holds, by tracing its code."""
    return _deserialize_graph_module(body["_code_"], body)


def _deserialize_graph_module(code: str, body: dict[Any, Any], graph_module_cls: object = None) -> Module:
    globals_, imports = body.pop("_globals_", {}), dict(body)
    forward = _forward_from_src(code, globals_)
    _CodeOnlyModule.forward = forward  # pyright: ignore[reportAttributeAccessIssue]
    name = imports.get("_graphmodule_cls_name", "GraphModule")
    module = _CodeOnlyModule(imports)

    graph = retrace(module)
    graph._tracer_cls = imports.get("_tracer_cls")
    result = GraphModule(module, graph, class_name=name)
    for key, value in imports.items():
        if not hasattr(result, key):
            setattr(result, key, value)
    return result


class GraphModule(Module):
    """A module whose ``forward`` is the code of a graph. Each has a class of its own.

    Args:
        root: the module, or a dict of attributes, that the graph's targets are in.
        graph: the function.
        class_name: shown by ``repr``.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> traced(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.GraphModule
    """

    _code: str
    _graph: Graph

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        # Each instance has a class of its own, because ``recompile`` sets ``forward`` on the class. The class that was made for
        # another instance is left out, so that a GraphModule made from a GraphModule does not get a longer chain of classes each
        # time.
        for kind in cls.__mro__:
            if kind.__qualname__.partition(".")[2].endswith("GraphModuleImpl"):
                cls = kind.__bases__[0]
                break

        class GraphModuleImpl(cls):  # pyright: ignore[reportGeneralTypeIssues]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: object, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node target {target} was referenced in the graph but was not provided in ``root``"
                    )
            for target in sorted(set(targets), key=lambda target: target.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: Kwargs = {}

    @property
    def graph(self) -> Graph:
        """The graph. After it has been changed, ``recompile`` writes its code again."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of the graph."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Makes the code from the graph as it is now."""
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map, self._prologue_start = code._lineno_map, code._prologue_start
        type(self).forward = _forward_from_src(code.src, code.globals)  # pyright: ignore[reportAttributeAccessIssue]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Adds a module at a path, for a ``call_module`` node. False if something on the path is no module."""
        *prefix, field = target.split(".")
        at: Module = self
        for item in prefix:
            below = getattr(at, item, None)
            if below is None:
                below = Module()
                setattr(at, item, below)
            if not isinstance(below, Module):
                return False
            at = below
        at.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Removes a module. False if there is none."""
        *prefix, field = target.split(".")
        at = self
        for item in prefix:
            at = getattr(at, item, None)
            if not isinstance(at, Module):
                return False
        if not isinstance(getattr(at, field, None), Module):
            return False
        delattr(at, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Removes the modules that no node uses."""
        used_names: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used_names.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module":
                    try:
                        inner = self.get_submodule(str(node.target))
                    except AttributeError:
                        continue
                    used_names.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used_names]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: object) -> str:
        """The code as that of a class, printed and returned."""
        body = "\n".join(f"    {line}" for line in self._code.strip("\n").rstrip().split("\n"))
        head, _, lines = body.partition("\n")
        text = f"class {type(self).__name__}(torch.nn.Module):\n{head}\n"
        if lines.strip():
            text += f"        # No stacktrace found for following nodes\n{lines}\n"
        if print_output:
            print(text)  # noqa: T201
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Writes the state and the code of the module as a package."""
        from ..serialization import save

        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        lines = ["import torch", "from torch.nn import *", "", f"class {module_name}(torch.nn.Module):"]
        lines += ["    def __init__(self):", "        super().__init__()"]
        for name, module in self.named_children():
            save(module, folder / f"{name}.pt")
            lines.append(f"        self.{name} = torch.load(r'{folder}/{name}.pt', weights_only=False)")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(
                    f"        self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
                )
        for name, parameter in self._parameters.items():
            if parameter is not None:
                shape = f"{list(parameter.shape)}, dtype={parameter.dtype}"
                lines.append(f"        self.{name} = torch.nn.Parameter(torch.empty({shape}))")
        lines.append(f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        code = "\n".join(f"    {line}" for line in self.code.split("\n"))
        (folder / "module.py").write_text("\n".join(lines) + f"\n{code}\n", "utf-8")
        (folder / "__init__.py").write_text("from .module import *\n", "utf-8")

    def __copy__(self) -> GraphModule:
        result = GraphModule(self, self.graph)
        result.meta = getattr(self, "meta", {})
        return result

    def _replicate_for_data_parallel(self) -> GraphModule:
        """A copy that shares parameters and modules with this one."""
        replica = self.__copy__()
        replica._is_replica = True
        return replica

    def __deepcopy__(self, memo: dict[int, object]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        attributes = {name: value for name, value in self.__dict__.items() if name != "_graph"}
        holder = _CodeOnlyModule(copy.deepcopy(attributes, memo))
        copied.__init__(holder, copy.deepcopy(self.graph, memo))
        copied.meta = holder.__dict__.get("meta", {})
        for name in ("_state_dict_hooks", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks"):
            if name in holder.__dict__:
                copied.__dict__[name] = holder.__dict__[name]
        for key in self.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}):  # pyright: ignore[reportGeneralTypeIssues,reportAttributeAccessIssue]
            setattr(copied, key, getattr(self, key))
        return copied

    def __reduce__(self) -> Any:
        python_code = self._graph.python_code(root_module="self")
        body = {name: value for name, value in self.__dict__.items() if name != "_graph"}
        names = {name: value for name, value in python_code.globals.items() if name not in _standard()}
        body |= {"_code_": python_code.src, "_globals_": _Globals(names), "_graphmodule_cls_name": type(self).__name__}
        return reduce_graph_module, (body, "")

    def __reduce_ex__(self, protocol: object) -> Any:
        return self.__reduce__()

    def __str__(self) -> str:
        text = super().__str__()
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{text}\n{self._code}\n{reminder}"


class _Globals(dict):
    """The global names of generated code; the standard ones are added when it is unpickled."""

    def __reduce__(self) -> Any:
        return _with_standard, (dict(self),)


def _standard() -> Kwargs:
    graph = Graph()
    graph.output(None)
    return graph.python_code("self").globals


def _with_standard(names: Kwargs) -> Kwargs:
    return _standard() | names
