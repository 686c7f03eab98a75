"""Rules of Fourier transforms and of decompositions that LAPACK computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import numpy as np
from jax.lax import FftType

from .rules import Compute, Parameters, ShapedDtype, Unsupported, require_native, rule


@rule("fft")
def _fft(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    kind, lengths, dtype = FftType(params["fft_type"]).name, params["fft_lengths"], outs[0].dtype
    if 0 in ins[0].shape:
        raise Unsupported("empty transforms")
    rank = len(ins[0].shape)
    axes = tuple(range(rank - len(lengths), rank))
    # SciPy's transforms, whose last digits are those of XLA's. NumPy's differ: transforms of few elements that cancel leave 2.7e-08.
    fft = _transforms()
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "FFT": lambda x: fft.c2c(x, axes),
        "IFFT": lambda x: fft.c2c(x, axes, forward=False, inorm=2),
        "RFFT": lambda x: fft.r2c(x, axes),
        "IRFFT": lambda x: fft.c2r(x, axes, lastsize=lengths[-1], forward=False, inorm=2),
    }
    if kind not in functions:
        raise Unsupported(kind)
    transform = functions[kind]
    return lambda x: transform(x).astype(dtype, copy=False)


@cache
def _transforms() -> ModuleType:
    """SciPy's module with the transforms, which SciPy 1.18 renamed.

    Raises:
        Unsupported: this SciPy has neither, so XLA computes them.
    """
    for path in ("fft/_pocketfft/pypocketfft", "fft/_duccfft/pyduccfft"):
        try:
            return _extension(path)
        except ImportError:
            continue
    raise Unsupported("transforms, which this version of SciPy keeps elsewhere")


# ---- decompositions, by SciPy's LAPACK, which jaxlib calls too


@cache
def _extension(path: str) -> ModuleType:
    """Loads an extension module of SciPy.

    It is loaded without its package, because importing ``scipy.linalg`` takes 0.2 s and loading the module alone takes 0.01 s.
    """
    name = "scipy." + path.replace("/", ".")
    scipy = find_spec("scipy")
    for folder in (scipy and scipy.submodule_search_locations) or ():
        for suffix in EXTENSION_SUFFIXES:
            file = os.path.join(folder, *path.split("/")) + suffix
            if os.path.exists(file):
                spec = spec_from_file_location(name, file)
                assert spec is not None and spec.loader is not None
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return import_module(name)


def _routines(library: str) -> ModuleType:
    """SciPy's module with the routines of LAPACK or BLAS."""
    try:
        return _extension(f"linalg/_f{library}")
    except ImportError:
        return import_module(f"scipy.linalg.{library}")  # another version of SciPy keeps it elsewhere


def _lapack(name: str, dtype: np.dtype) -> Callable[..., Any]:
    prefix = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[dtype.name]
    return getattr(_routines("blas" if name == "trsm" else "lapack"), prefix + name)


def _matrices(ins: Sequence[ShapedDtype]) -> None:
    require_native(*ins)
    if ins[0].dtype.kind not in "fc" or ins[0].dtype.itemsize < 4 or any(0 in aval.shape for aval in ins):
        raise Unsupported("matrices of this kind")


def _for_each(
    function: Callable[..., Sequence[np.ndarray]], outs: Sequence[ShapedDtype]
) -> Callable[..., list[np.ndarray]]:
    """Turns a function of one matrix into one of a batch of matrices, which returns one array for each of ``outs``."""
    shapes = [(aval.shape, aval.dtype) for aval in outs]

    def compute(*arrays: np.ndarray) -> list[np.ndarray]:
        results = [np.empty(shape, dtype) for shape, dtype in shapes]
        for index in np.ndindex(arrays[0].shape[:-2]):
            for result, factor in zip(results, function(*[a[index] for a in arrays]), strict=True):
                result[index] = factor
        return results

    return compute


@rule("lu")
def _lu(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    getrf, rows = _lapack("getrf", ins[0].dtype), ins[0].shape[-2]

    def factor(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lu, pivots, info = getrf(a)
        # Only a negative number is an error. A positive one says that a pivot is exactly 0; the factors are right, and XLA returns them
        # too.
        if info < 0:
            lu = np.full_like(lu, np.nan)
        order = np.arange(rows)
        for i, pivot in enumerate(pivots):
            order[[i, pivot]] = order[[pivot, i]]
        return lu, pivots, order

    return _for_each(factor, outs)


@rule("lu_pivots_to_permutation")
def _lu_pivots(params: Parameters, ins: object, outs: Sequence[ShapedDtype]) -> Compute:
    size = params["permutation_size"]

    def permute(pivots: np.ndarray) -> np.ndarray:
        result = np.empty(outs[0].shape, outs[0].dtype)
        for index in np.ndindex(pivots.shape[:-1]):
            order = np.arange(size)
            for i, pivot in enumerate(pivots[index]):
                order[[i, pivot]] = order[[pivot, i]]
            result[index] = order
        return result

    return permute


@rule("triangular_solve")
def _triangular_solve(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    trsm = _lapack("trsm", ins[0].dtype)
    side, lower, unit = not params["left_side"], params["lower"], params["unit_diagonal"]
    transposed, conjugate = params["transpose_a"], params["conjugate_a"]
    if conjugate and not transposed:
        raise Unsupported("a triangular solve with conjugates alone")
    how = 2 if conjugate else int(transposed)
    solve = _for_each(lambda a, b: [trsm(1.0, a, b, side=side, lower=lower, trans_a=how, diag=unit)], outs)
    return lambda a, b: solve(a, b)[0]


@rule("cholesky")
def _cholesky(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    if params.get("symmetrize_input"):
        raise Unsupported("a Cholesky factor with symmetrizing")
    potrf = _lapack("potrf", ins[0].dtype)

    def factor(a: np.ndarray) -> list[np.ndarray]:
        lower, info = potrf(a, lower=True, clean=True)
        # XLA reports a failure by NaN as well. The operator's check turns it into PyTorch's error.
        return [lower if info == 0 else np.full_like(lower, np.nan)]

    compute = _for_each(factor, outs)
    return lambda a: compute(a)[0]


@rule("eigh")
def _eigh(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    if params.get("subset_by_index") not in (None, (0, ins[0].shape[-1])) or not params["sort_eigenvalues"]:
        raise Unsupported("some eigenvalues")
    evd, lower = _lapack("heevd" if ins[0].dtype.kind == "c" else "syevd", ins[0].dtype), params["lower"]

    def decompose(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors, info = evd(a, compute_v=1, lower=lower)
        return (vectors, values) if info == 0 else (np.full_like(vectors, np.nan), np.full_like(values, np.nan))

    return _for_each(decompose, outs)


@rule("svd")
def _svd(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    if params.get("subset_by_index") is not None or params.get("algorithm") is not None:
        raise Unsupported("some singular values")
    gesdd, full, vectors = _lapack("gesdd", ins[0].dtype), params["full_matrices"], params["compute_uv"]

    def decompose(a: np.ndarray) -> Sequence[np.ndarray]:
        u, s, v, info = gesdd(a, compute_uv=vectors, full_matrices=full)
        factors = (s, u, v) if vectors else (s,)
        return factors if info == 0 else [np.full_like(factor, np.nan) for factor in factors]

    return _for_each(decompose, outs)


@rule("geqrf")
def _geqrf(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    geqrf = _lapack("geqrf", ins[0].dtype)
    return _for_each(lambda a: geqrf(a)[:2], outs)


@rule("qr")
def _qr(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins)
    if params.get("pivoting"):
        raise Unsupported("QR with pivoting")
    geqrf = _lapack("geqrf", ins[0].dtype)
    orgqr = _lapack("ungqr" if ins[0].dtype.kind == "c" else "orgqr", ins[0].dtype)
    (rows, columns), rank = ins[0].shape[-2:], outs[0].shape[-1]

    def decompose(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        packed, taus = geqrf(a)[:2]
        # LAPACK makes Q as wide as its input, so the reflectors are completed with columns of zeros.
        reflectors = np.zeros((rows, rank), packed.dtype)
        reflectors[:, :columns] = packed[:, :rank]
        return orgqr(reflectors, taus)[0], np.triu(packed[:rank])

    return _for_each(decompose, outs)


@rule("householder_product")
def _householder_product(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    _matrices(ins[:1])
    if 0 in ins[1].shape:
        raise Unsupported("no reflectors")
    orgqr = _lapack("ungqr" if ins[0].dtype.kind == "c" else "orgqr", ins[0].dtype)
    shape, dtype = outs[0].shape, outs[0].dtype

    def compute(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
        result = np.empty(shape, dtype)
        for index in np.ndindex(a.shape[:-2]):
            result[index] = orgqr(a[index], taus[index])[0]
        return result

    return compute
