"""Recurrent layers: RNN, LSTM, GRU over whole sequences, and their single steps."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._core.annotations import DeviceLike, Dtype
from ..._core.modes import modes
from ..._core.tensor import Tensor
from ...ops.creation.filled import zeros
from ...ops.nn import rnn as ops
from .. import init
from ..parameter import Parameter, unfilled
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS = {"LSTM": ops.lstm, "GRU": ops.gru, "RNN_TANH": ops.rnn_tanh, "RNN_RELU": ops.rnn_relu}
_NONLINEARITIES = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}


def _uniform(module: Module) -> None:
    """All weights uniform between ±1 / sqrt(hidden_size)."""
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """The base class of RNN, LSTM and GRU.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: F, features of a step's input.
        hidden_size: H, features of the state.
        num_layers: the number of layers. Each layer reads the states of the one before.
        bias: whether there are biases.
        batch_first: input and output are (B, T, features) rather than (T, B, features).
        dropout: probability of dropout between layers, while training.
        bidirectional: whether each layer also runs backwards; both outputs are concatenated.
        proj_size: for LSTM: the number of features to which states are projected; 0: no projection.

    Raises:
        ValueError, TypeError: a size is not positive, or the dropout is no probability.
    """

    mode: str
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_options(dropout)
        gates, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        out = proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                shapes = {
                    "weight_ih": (gates, out * directions if layer else input_size),
                    "weight_hh": (gates, out),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                # In this order, which is that of the ``state_dict`` and of the random numbers that fill the weights.
                for name, shape in shapes.items():
                    weight = Parameter(unfilled(shape, device=device, dtype=dtype))
                    setattr(self, f"{name}_l{layer}{suffix}", weight)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
        self.reset_parameters()

    def _check_options(self, dropout: float) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= self.dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than "
                f"1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        kinds = {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for layer in self._all_weights for name in layer]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for layer in self._all_weights for name in layer]

    def __getstate__(self) -> dict[str, object]:
        # PyTorch's layers have these attributes, and require them in pickles.
        return super().__getstate__() | {
            "_flat_weights_names": self._flat_weights_names,
            "_flat_weights": self._flat_weights,
        }

    def __setstate__(self, state: Mapping[str, object]) -> None:
        super().__setstate__({name: value for name, value in state.items() if not name.startswith("_flat_weights")})

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in layer] for layer in self._all_weights]

    def flatten_parameters(self) -> None:
        """Has no effect, since the compiler decides where weights lie in memory."""

    def reset_parameters(self) -> None:
        """Draws all weights anew, uniform between ±1 / sqrt(hidden_size)."""
        _uniform(self)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        if self.bidirectional:
            text += f", bidirectional={self.bidirectional}"
        return text

    # ---- checks of a call

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises an error unless the input has the dtype and the number of features of the weights."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and not modes.autocast:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the state."""
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raises an error unless the state has the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises an error unless input and state match the layer and each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """The states in the order of the packed sequences, or back."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ---- the call

    def _first_state(self, input: Tensor, batch_sizes: Tensor | None) -> Tensor:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return zeros(shape, dtype=input.dtype, device=input.device)

    def _check_ranks(self, hx: Tensor | None, batched: bool) -> None:
        if hx is not None and hx.dim() != (3 if batched else 2):
            kind, rank = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(f"For {kind} input, hx should also be {rank}-D but got {hx.dim()}-D tensor")

    def _map_state(self, hx: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """Applies ``change`` to the state, or to each of its parts."""
        return change(hx)

    def _run(self, input: Tensor, hx: Tensor | None) -> Any:
        """Runs all layers over the sequences.

        Args:
            input: (T, B, F), or (B, T, F) if ``batch_first``; (T, F) for one sequence; or a PackedSequence.
            hx: the first state, (layers * directions, B, H). Default: zeros.

        Returns:
            The last layer's state at every step, and every layer's last state.
        """
        weights = self._flat_weights
        settings = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, sizes, order, back = input
            if hx is None:
                hx = self._first_state(data, sizes)
            else:
                hx = self._map_state(hx, lambda h: self.permute_hidden(h, order))
            self.check_forward_args(data, hx, sizes)
            output, *last = _FUNCTIONS[self.mode](data, sizes, hx, weights, *settings)
            hidden = self._map_state(self._state_result(last), lambda h: self.permute_hidden(h, back))
            return PackedSequence(output, sizes, order, back), hidden
        if input.dim() not in (2, 3):
            word = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{word} instead")
        batched, at = input.dim() == 3, 0 if self.batch_first else 1
        self._check_ranks(hx, batched)
        if not batched:
            input = input.unsqueeze(at)
            hx = None if hx is None else self._map_state(hx, lambda h: h.unsqueeze(1))
        hx = self._first_state(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        output, *last = _FUNCTIONS[self.mode](input, hx, weights, *settings, self.batch_first)
        hidden = self._state_result(last)
        if not batched:
            output, hidden = output.squeeze(at), self._map_state(hidden, lambda h: h.squeeze(1))
        return output, hidden

    def _state_result(self, last: Sequence[Tensor]) -> Tensor:
        return last[0]


class RNN(RNNBase):
    """Plain recurrent layers: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        nonlinearity: "tanh" or "relu"; the fourth argument. The others are those of ``RNNBase``.

    >>> torch.nn.RNN(10, 20, 2)(torch.randn(5, 3, 10))[0].shape
    torch.Size([5, 3, 20])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNN.html
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = (*args[:3], *args[4:])
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in _NONLINEARITIES:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(_NONLINEARITIES[self.nonlinearity], *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(input, hx)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    ``r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)``, ``z`` likewise, ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))``,
    ``h' = (1 - z) n + z h``. Arguments are those of ``RNNBase`` without ``mode`` and ``proj_size``.

    >>> torch.nn.GRU(10, 20, 2, batch_first=True)(torch.randn(3, 5, 10))[1].shape
    torch.Size([2, 3, 20])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html; https://arxiv.org/abs/1406.1078
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(input, hx)


class LSTM(RNNBase):
    """Layers of long short-term memory.

    With gates ``i``, ``f``, ``o`` (sigmoid) and ``g`` (tanh) of ``W_ih x + b_ih + W_hh h + b_hh``: ``c' = f c + i g``,
    ``h' = o tanh(c')``; with ``proj_size``, ``h' = W_hr o tanh(c')``. Arguments are those of ``RNNBase`` without ``mode``.

    >>> lstm = torch.nn.LSTM(10, 20, 2)
    >>> output, (h_n, c_n) = lstm(torch.randn(5, 3, 10))
    >>> output.shape, h_n.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html; https://arxiv.org/abs/1402.1128
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(input, hx)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for number in range(2):
            self.check_hidden_size(hidden[number], sizes[number], f"Expected hidden[{number}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Tensor | tuple[Tensor, Tensor], permutation: Tensor | None) -> Any:
        """States and cells in the order of the packed sequences, or back."""
        return (
            super().permute_hidden(hx, permutation)
            if isinstance(hx, Tensor)
            else self._map_state(hx, lambda h: RNNBase.permute_hidden(self, h, permutation))
        )

    def _first_state(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, ...]:
        cells = zeros(self.get_expected_cell_size(input, batch_sizes), dtype=input.dtype, device=input.device)
        return super()._first_state(input, batch_sizes), cells

    def _check_ranks(self, hx: Tensor | None, batched: bool) -> None:
        if hx is not None and any(h.dim() != (3 if batched else 2) for h in hx[:2]):
            kind, rank = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            ranks = f"({hx[0].dim()}-D, {hx[1].dim()}-D)"
            raise RuntimeError(f"For {kind} input, hx and cx should also be {rank}-D but got {ranks} tensors")

    def _map_state(self, hx: tuple[Tensor, Tensor], change: Callable[[Tensor], Tensor]) -> Any:
        return change(hx[0]), change(hx[1])

    def _state_result(self, last: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(last)


# ---- single steps


class RNNCellBase(Module):
    """The base class of RNNCell, LSTMCell and GRUCell.

    Args:
        input_size, hidden_size: features of input and state.
        bias: whether there are biases.
        num_chunks: the number of gates in each weight, one below the other.
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        where = {"device": device, "dtype": dtype}
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(unfilled((gates, input_size), **where))
        self.weight_hh = Parameter(unfilled((gates, hidden_size), **where))
        self.register_parameter("bias_ih", Parameter(unfilled((gates,), **where)) if bias else None)
        self.register_parameter("bias_hh", Parameter(unfilled((gates,), **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights anew, uniform between ±1 / sqrt(hidden_size)."""
        _uniform(self)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_rank(self, name: str, state: Tensor | None) -> None:
        if state is not None and state.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {state.dim()}D instead")

    def _step(self, function: Callable[..., Tensor], input: Tensor, hx: Tensor | None) -> Tensor:
        self._check_rank("input", input)
        self._check_rank("hidden", hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        new = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return new if batched else new.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of a plain recurrent layer: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        nonlinearity: "tanh" or "relu".

    >>> torch.nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RNNCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        functions = {"tanh": ops.rnn_tanh_cell, "relu": ops.rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[self.nonlinearity], input, hx)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory, from state and cell to the new ones; with the formulas of ``LSTM``.

    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> c.shape
    torch.Size([3, 20])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        self._check_rank("input", input)
        for number, state in enumerate(hx or ()):
            self._check_rank(f"hx[{number}]", state)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            state = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
            hx = (state, state)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = ops.lstm_cell(input, tuple(hx), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit; with the formulas of ``GRU``.

    >>> torch.nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRUCell.html
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(ops.gru_cell, input, hx)
