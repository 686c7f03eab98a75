"""The annotations of traced functions stand in the generated code as PyTorch writes them."""

import builtins
import collections.abc
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - the older names are what is tested

import pytest

import torchlike as torch
from torchlike.fx import symbolic_trace

SEQUENCE = collections.abc.Sequence[int]
WRITTEN: Any = [
    (List[int], "typing_List[int]"),  # noqa: UP006
    (list[int], "list[int]"),
    (List, "list"),  # noqa: UP006
    (Optional[torch.Tensor], "typing_Union[torch.Tensor,NoneType]"),  # noqa: UP045
    (Union[int, float, None], "typing_Union[int,float,NoneType]"),  # noqa: UP007
    (Dict[str, List[torch.Tensor]], "typing_Dict[str,typing_List[torch.Tensor]]"),  # noqa: UP006
    (Tuple[int, ...], "typing_Tuple[int,_]"),  # noqa: UP006
    (int | None, "int|NoneType"),
    (SEQUENCE, "collections_abc_Sequence[int]"),
    (Any, "typing_Any"),
    (torch.device, "device"),
    (torch.dtype, "torch.dtype"),
]


@pytest.mark.parametrize(("annotation", "text"), WRITTEN)
def test_an_annotation_is_written_as_pytorch_writes_it(annotation, text, monkeypatch):
    monkeypatch.delattr(builtins, "_", raising=False)  # a name that exists there is not taken again

    def function(x):
        return x

    function.__annotations__ = {"x": annotation}
    module = symbolic_trace(function)
    assert module.code.strip().splitlines()[0] == f"def forward(self, x : {text}):"
    assert module(3) == 3
