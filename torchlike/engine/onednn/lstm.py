"""Layers of long short-term memory by oneDNN: the forward pass, and all gradients.

The steps of a sequence follow each other, so oneDNN's threads would meet after each of them: sixty times in a millisecond, where every
meeting may wait for a thread that has no core. So a batch is cut into pieces, and each thread walks along the whole sequences of a piece.
"""

from __future__ import annotations

import functools
from ctypes import c_void_p
from typing import NamedTuple

import numpy as np

from .library import Failure, Library, Record, Step, library
from .preparation import DTYPES, Arguments, Preparation, aligned

# The numbers of oneDNN's C interface (dnnl_types.h).
_KINDS = {"training": 64, "inference": 96, "gradients": 128}
_FORWARDS, _BACKWARDS = 1, 2
_OVERWRITE_GRADIENTS_OF_WEIGHTS = 1
_X, _H, _C, _W_IH, _W_HH, _BIAS = 1, 2, 3, 33, 34, 41
_Y, _H_LAST, _C_LAST, _WORKSPACE = 17, 18, 19, 64
_TO_GRADIENT = 128  # added to the number of an array it makes that of its gradient
_WEIGHTS = (_W_IH, _W_HH)

# A piece has at least so many sequences, since products of fewer rows take longer for each row. Where pieces of so many are possible, there
# are two for each thread, so that one which has a core for itself can take more of them than another.
FEWEST, MANY = 8, 32
# Each piece has gradients of the weights, which together take no more memory than this.
GRADIENT_BYTES = 2**26
# The gradients of this many weights are added up, and their layouts changed, by several threads.
SHARED_FROM = 500_000
_FLOAT = np.dtype(np.float32)


class Lstm(NamedTuple):
    """One layer and direction over sequences of the same length, in float32.

    ``part`` is "inference", "training" or "gradients". Operands of the first two: x (T, B, F), first state and cell (B, H), the weights
    (4 H, F) and (4 H, H), and one bias (4 H). They give y (T, B, H), the last state, the last cell; "training" also a workspace.
    "gradients" takes all of these operands and results, and the cotangents of y, of the last state and of the last cell; it gives the
    gradients of the six operands.
    """

    part: str
    steps: int
    batch: int
    features: int
    hidden: int
    reverse: bool
    pieces: int  # of the batch
    workspace: int  # bytes; 0 for "inference"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the six operands of the forward pass."""
        state, gates = (self.batch, self.hidden), 4 * self.hidden
        return (
            (self.steps, self.batch, self.features),
            state,
            state,
            (gates, self.features),
            (gates, self.hidden),
            (gates,),
        )

    @property
    def results(self) -> tuple[tuple[tuple[int, ...], np.dtype], ...]:
        """Shapes and dtypes."""
        state = (self.batch, self.hidden)
        shapes = self.operands if self.part == "gradients" else ((self.steps, *state), state, state)
        workspace = [(self.workspace // _FLOAT.itemsize,)] if self.part == "training" else []
        return tuple((shape, _FLOAT) for shape in (*shapes, *workspace))

    @property
    def key(self) -> list[int]:
        """Describes the computation completely by numbers. The handler finds its record by them."""
        return [
            _KINDS[self.part],
            self.steps,
            self.batch,
            self.features,
            self.hidden,
            int(self.reverse),
            self.pieces,
            self.workspace,
        ]

    @property
    def products(self) -> int:
        """The number of multiplications and additions of the forward pass."""
        return self.steps * self.batch * (self.features + self.hidden) * 4 * self.hidden

    def may_have_record(self) -> bool:
        """Whether oneDNN can be asked: it computes nothing that is empty."""
        return min(self.steps, self.batch, self.features, self.hidden) > 0

    def record(self, onednn: Library, threads: int) -> Record:
        """The record for so many threads.

        Raises:
            Failure: oneDNN does not implement it, or with a workspace of another size.
        """
        with Preparation(onednn, self.key, 1) as preparation:
            return _Filling(preparation, self, threads).record()


def lstm_of(part: str, x: tuple[int, ...], hidden: int, reverse: bool, threads: int) -> Lstm | None:
    """The layer over an input of this shape (T, B, F), cut for so many threads; None if oneDNN does not compute it."""
    steps, batch, features = x
    pieces = _pieces(batch, threads, 16 * hidden * (features + hidden))
    of = Lstm(part, steps, batch, features, hidden, reverse, pieces, 0)
    size = _workspace(of) if of.may_have_record() else None
    return None if size is None else of._replace(workspace=size)


def _pieces(batch: int, threads: int, weight_bytes: int) -> int:
    wanted = max(min(threads, batch // FEWEST), min(2 * threads, batch // MANY))
    return max(1, min(wanted, GRADIENT_BYTES // max(1, weight_bytes)))


@functools.lru_cache(maxsize=512)
def _workspace(of: Lstm) -> int | None:
    onednn = library()
    if onednn is None:
        return None
    try:
        with Preparation(onednn, of.key, 1) as preparation:
            return _Filling(preparation, of, 1).workspace
    except Failure:
        return None


class _Piece(NamedTuple):
    """Some sequences of the batch, as oneDNN's primitive for them.

    ``before``: how many sequences are in the pieces before this one. ``workspace``: where its own begins, in bytes.
    """

    before: int
    description: c_void_p
    layouts: dict[int, c_void_p]  # of the arrays that are cut into pieces
    workspace: int


class _Filling:
    """Makes a record: layouts of weights are changed, each piece is computed, gradients of weights are added up."""

    def __init__(self, preparation: Preparation, of: Lstm, threads: int) -> None:
        self.preparation, self.of, self.threads = preparation, of, threads
        sizes = [of.batch // of.pieces + (number < of.batch % of.pieces) for number in range(of.pieces)]
        descriptions = {size: self._described(size) for size in set(sizes)}
        first, weights = descriptions[sizes[0]][0], _WEIGHTS
        if of.part == "gradients":
            weights += tuple(_TO_GRADIENT + number for number in _WEIGHTS)
        for description, _ in descriptions.values():
            for number in weights:
                if not preparation.are_equal(*(preparation.layout_of(each, number) for each in (first, description))):
                    raise Failure("pieces of the batch need weights in different layouts")
        self.pieces: list[_Piece] = []
        self.workspace = before = 0
        for size in sizes:
            description, layouts = descriptions[size]
            self.pieces.append(_Piece(before, description, layouts, self.workspace))
            before += size
            if of.part != "inference":
                self.workspace += aligned(preparation.bytes_of(preparation.layout_of(description, _WORKSPACE)))

    def _described(self, size: int) -> tuple[c_void_p, dict[int, c_void_p]]:
        """The primitive for so many sequences, and the layouts of their arrays within those of the whole batch."""
        of, preparation = self.of, self.preparation
        steps, batch, features, hidden = of.steps, of.batch, of.features, of.hidden

        def layout(shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> c_void_p:
            return preparation.plain(shape, DTYPES["float32"], strides)

        state = layout((1, 1, size, hidden))
        layouts = {
            _X: layout((steps, size, features), (batch * features, features, 1)), _H: state, _C: state,
            _Y: layout((steps, size, hidden), (batch * hidden, hidden, 1)), _H_LAST: state, _C_LAST: state,
        }  # fmt: skip
        w_ih, w_hh = (preparation.any_layout((1, 1, n, 4, hidden), DTYPES["float32"]) for n in (features, hidden))
        inputs = (layouts[_X], state, state)
        weights = (w_ih, w_hh, None, None, layout((1, 1, 4, hidden)))
        arrays = (*inputs, *weights, layouts[_Y], state, state)
        is_backward = of.part == "gradients"
        start = (preparation.library.engine,)
        direction, attributes = _BACKWARDS if of.reverse else _FORWARDS, preparation.attributes()
        kind = _KINDS["training" if is_backward else of.part]
        description = preparation.describe(
            "dnnl_lstm_forward_primitive_desc_create",
            *start,
            kind,
            direction,
            *arrays,
            0,
            attributes,
            keep=not is_backward,
        )
        if is_backward:
            description = preparation.describe(
                "dnnl_lstm_backward_primitive_desc_create", *start, _KINDS[of.part], direction, *arrays, *arrays,
                _OVERWRITE_GRADIENTS_OF_WEIGHTS, description, attributes,
            )  # fmt: skip
        return description, layouts

    def record(self) -> Record:
        """The record.

        Raises:
            Failure: the workspace has another size than the caller's.
        """
        of, preparation = self.of, self.preparation
        if of.workspace != self.workspace:
            raise Failure(f"a workspace of {of.workspace} bytes instead of {self.workspace}")
        forward = [_X, _H, _C, _W_IH, _W_HH, _BIAS]
        results = [_Y, _H_LAST, _C_LAST]
        if of.part == "gradients":
            operands = [*forward, *results, _WORKSPACE, *(_TO_GRADIENT + number for number in results)]
            results = [_TO_GRADIENT + number for number in forward]
        else:
            operands, results = forward, results + [_WORKSPACE] * (of.part == "training")
        buffers = {number: place for place, number in enumerate((*operands, *results))}
        shared = self._weights(buffers)
        totals = [_TO_GRADIENT + number for number in (_W_IH, _W_HH, _BIAS)] if of.part == "gradients" else []
        parts: dict[int, list[c_void_p]] = {number: [] for number in totals}
        chains: list[list[Step]] = []
        for number, piece in enumerate(self.pieces):
            arguments = [*shared, *self._own(piece, buffers)]
            for total in totals:
                part = preparation.inner(preparation.layout_of(piece.description, total))
                parts[total].append(part)
                arguments.append((total, part))
            chains.append([preparation.step(piece.description, arguments, number)])
        preparation.stage(chains, self.threads)
        self._add_up(parts, buffers)
        return preparation.finished(len(buffers))

    def _layout_outside(self, number: int) -> c_void_p:
        """The layout of weights, the bias and their gradients as PyTorch has them."""
        hidden = self.of.hidden
        kind = number % _TO_GRADIENT
        if kind == _BIAS:
            return self.preparation.plain((1, 1, 4, hidden), DTYPES["float32"])
        width = self.of.features if kind == _W_IH else hidden
        size = 4 * hidden * width
        return self.preparation.plain(
            (1, 1, width, 4, hidden), DTYPES["float32"], (size, size, 1, hidden * width, width)
        )

    @property
    def _threads_for_weights(self) -> int:
        of = self.of
        return self.threads if (of.features + of.hidden) * 4 * of.hidden >= SHARED_FROM else 1

    def _weights(self, buffers: dict[int, int]) -> Arguments:
        """The arguments that all pieces read, in the layouts that oneDNN has chosen."""
        preparation, arguments, chains = self.preparation, [], []
        for number in (_W_IH, _W_HH, _BIAS):
            plain, best = self._layout_outside(number), preparation.layout_of(self.pieces[0].description, number)
            outer = preparation.outer(plain, buffers[number])
            if preparation.are_equal(plain, best):
                arguments.append((number, outer))
            else:
                arguments.append((number, preparation.inner(best)))
                chains.append([preparation.reorder(plain, outer, best, arguments[-1][1], len(chains))])
        preparation.stage(chains, self._threads_for_weights)
        return arguments

    def _own(self, piece: _Piece, buffers: dict[int, int]) -> Arguments:
        """The arguments that are cut into pieces: a piece has these sequences of each step."""
        arguments: Arguments = []
        widths = {_X: self.of.features}
        for number, buffer in buffers.items():
            kind = number if number < _TO_GRADIENT else number - _TO_GRADIENT
            if kind == _WORKSPACE:
                layout = self.preparation.layout_of(piece.description, _WORKSPACE)
                arguments.append((number, self.preparation.outer(layout, buffer, piece.workspace)))
            elif kind in piece.layouts:
                offset = piece.before * widths.get(kind, self.of.hidden) * _FLOAT.itemsize
                arguments.append((number, self.preparation.outer(piece.layouts[kind], buffer, offset)))
        return arguments

    def _add_up(self, parts: dict[int, list[c_void_p]], buffers: dict[int, int]) -> None:
        """The gradients of weights are the sums over the pieces, always in the same order."""
        preparation, sums, copies = self.preparation, [], []
        for number, terms in parts.items():
            layout = preparation.layout_of(self.pieces[0].description, number)
            outside = self._layout_outside(number)
            outer = preparation.outer(outside, buffers[number])
            is_same = preparation.are_equal(layout, outside)
            total = terms[0]
            if len(terms) > 1:
                total = outer if is_same else preparation.inner(layout)
                sums.append([preparation.sum(layout, terms, total, len(sums))])
            if total is not outer:
                copies.append([preparation.reorder(layout, total, outside, outer, len(copies))])
        for chains in (sums, copies):
            preparation.stage(chains, self._threads_for_weights)
