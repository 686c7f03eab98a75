"""torch.fx: modules as graphs, which programs can read, change and run."""

from . import (
    annotate as annotate,
    experimental as experimental,
    graph as graph,
    graph_module as graph_module,
    immutable_collections as immutable_collections,
    interpreter as interpreter,
    node as node,
    operator_schemas as operator_schemas,
    passes as passes,
    proxy as proxy,
    subgraph_rewriter as subgraph_rewriter,
    traceback as traceback,
)
from ._symbolic_trace import (
    PH as PH,
    ProxyableClassMeta as ProxyableClassMeta,
    Tracer as Tracer,
    symbolic_trace as symbolic_trace,
    wrap as wrap,
)
from .graph import CodeGen as CodeGen, Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter, Transformer as Transformer
from .node import Node as Node, has_side_effect as has_side_effect, map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

for _public in (ProxyableClassMeta, Tracer, symbolic_trace, wrap):  # users find them here
    _public.__module__ = __name__
