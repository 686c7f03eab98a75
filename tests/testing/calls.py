"""Calls of torch.testing whose outcome is compared with PyTorch's."""

from typing import Any

CALLS = [
    "close(torch.ones(3), torch.tensor([1, 1.1, 1]))",
    "close(torch.ones(2, 2), torch.zeros(2, 2))",
    "close(torch.ones(2, 2), torch.ones(2, 2) + 1e-7)",
    "close(1.0, 2.0)",
    "close(torch.ones(2), torch.ones(3))",
    "close(torch.ones(2), torch.ones(2).double())",
    "close(torch.ones(2), torch.ones(2).double(), check_dtype=False)",
    "close([1, 2], [1, 3])",
    "close({'a': 1}, {'a': 2})",
    "close({'a': [torch.ones(1), torch.ones(2)]}, {'a': [torch.ones(1), torch.zeros(2)]})",
    "close(torch.tensor(1), torch.tensor(2))",
    "close(torch.tensor(1.5), torch.tensor(2.5))",
    "close(torch.tensor([float('nan')]), torch.tensor([float('nan')]))",
    "close(torch.tensor([float('nan')]), torch.tensor([float('nan')]), equal_nan=True)",
    "close(torch.tensor([float('inf')]), torch.tensor([float('inf')]))",
    "close(torch.ones(2), 1.0)",
    "close(torch.ones(1), torch.zeros(1), rtol=1e-3)",
    "close(torch.ones(2), torch.zeros(2), msg='words')",
    "close(torch.ones(2), torch.zeros(2), msg=lambda words: 'X ' + words)",
    "close(torch.tensor([True]), torch.tensor([False]))",
    "close([1], [1, 2])",
    "close({'a': 1}, {'b': 1})",
    "close('a', 'b')",
    "close(torch.ones(2), torch.zeros(2), atol=0.5, rtol=0.1)",
    "close(None, None)",
    "close(None, 1)",
    "close(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1, 2], [3, 5]]))",
    "close(True, False)",
    "close(1 + 1j, 2.0)",
    "close(1, 1.0)",
    "close(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16) * 1.01)",
    "close(torch.ones(2, dtype=torch.complex64), 1j * torch.ones(2, dtype=torch.complex64))",
    "close(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True)",
    "close(torch.ones(0), torch.ones(0))",
    "make((2, 3), dtype=torch.float32, device='cpu')",
    "make(4, dtype=torch.float64, device='cpu', low=1, high=2)",
    "make((2, 2), dtype=torch.int64, device='cpu')",
    "make((2, 2), dtype=torch.uint8, device='cpu')",
    "make((2, 2), dtype=torch.bool, device='cpu')",
    "make((2, 2), dtype=torch.complex64, device='cpu')",
    "make((2, 2), dtype=torch.bfloat16, device='cpu')",
    "make((2, 2), dtype=torch.float32, device='cpu', noncontiguous=True).stride()",
    "make((2, 2), dtype=torch.float32, device='cpu', noncontiguous=True)",
    "make((2, 2), dtype=torch.int32, device='cpu', low=0, high=2, exclude_zero=True)",
    "make((2, 2), dtype=torch.float32, device='cpu', requires_grad=True)",
    "make((2, 2), dtype=torch.int32, device='cpu', requires_grad=True)",
    "make((2, 2), dtype=torch.float32, device='cpu', low=3, high=2)",
    "make((2, 2), dtype=torch.float8_e4m3fn, device='cpu').float()",
    "make((2, 2), dtype=torch.float8_e5m2, device='cpu', low=-1000, high=1000).float()",
]


def said(library: Any, line: str) -> str:
    """Returns a call's result or error, without the library's own name."""
    library.manual_seed(5)
    names = {"torch": library, "close": library.testing.assert_close, "make": library.testing.make_tensor}
    try:
        words = repr(eval(line, names))
    except (AssertionError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {error}"
    return words.replace("torchlike.", "torch.")
