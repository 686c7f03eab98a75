"""``out=`` of another dtype than the result: which operations cast, which refuse and in which words, and which compute in that dtype."""

import pytest

import torchlike as torch

F32, F64, I64 = torch.float32, torch.float64, torch.int64
X = torch.tensor([1.5, -2.5, 3.25])

FOUND = "abs absolute ceil conj_physical fix floor frac hardshrink neg negative round sgn sign trunc"
EXACT = "cross detach_copy diag msort norm slice_copy take_along_dim"
CASTS = "outer ger kron exp add mul max float_power"
PAIRS = {
    "cross",
    "outer",
    "ger",
    "kron",
    "add",
    "mul",
    "float_power",
    "dot",
    "vdot",
    "matmul",
    "inner",
    "bucketize",
    "searchsorted",
}

OTHER_WORDS = {
    "amax": "Expected the dtype for input and out to match, but got Float for input's dtype and Double for out's dtype.",
    "amin": "Expected the dtype for input and out to match, but got Float for input's dtype and Double for out's dtype.",
    "all": "all only supports bool tensor for result, got: Double",
    "any": "any only supports bool tensor for result, got: Double",
    "dot": "result dtype Double does not match input dtype Float",
    "vdot": "result dtype Double does not match input dtype Float",
    "matmul": "result dtype Double does not match input dtype Float",
    "inner": "tensordot: Expected the output tensor to have dtype Float, but got an output tensor with dtype Double",
    "isneginf": "isneginf does not support non-boolean outputs.",
    "isposinf": "isposinf does not support non-boolean outputs.",
    "signbit": "signbit does not support non-boolean outputs.",
    "nan_to_num": "nan_to_num: dtype of out: Double should be same as input: Float",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input float and hist double",
    "bucketize": (
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 "
        "flag is True, but we got output tensor's dtype Double and out_int32 flag is False"
    ),
}


def _call(name: str, out: torch.Tensor) -> torch.Tensor:
    args = (
        (X,) if name == "detach_copy" else (X, 0, 1, 2) if name == "slice_copy" else (X, X) if name in PAIRS else (X,)
    )
    args = {"take_along_dim": (X, torch.tensor([0])), "cross": (X, X, 0)}.get(name, args)
    return getattr(torch, name)(*args, out=out)


@pytest.mark.parametrize("name", FOUND.split())
@pytest.mark.parametrize(("dtype", "words"), [(F64, "Double"), (torch.complex64, "ComplexFloat"), (I64, "Long")])
def test_rounding_and_signs_do_not_cast_to_out(name, dtype, words):
    with pytest.raises(RuntimeError) as error:
        _call(name, torch.empty(3, dtype=dtype))
    assert str(error.value) == f"Found dtype {words} but expected Float"


@pytest.mark.parametrize("name", EXACT.split())
def test_composed_operations_refuse_out_of_another_dtype(name):
    with pytest.raises(RuntimeError) as error:
        _call(name, torch.empty(0, dtype=F64))
    assert str(error.value) == "Expected out tensor to have dtype float, but got double instead"


@pytest.mark.parametrize("name", OTHER_WORDS)
def test_families_have_words_of_their_own(name):
    with pytest.raises(RuntimeError) as error:
        _call(name, torch.empty(0, dtype=F64))
    assert str(error.value) == OTHER_WORDS[name]


@pytest.mark.parametrize("name", CASTS.split())
def test_others_cast_to_out(name):
    assert _call(name, torch.empty(0, dtype=F64)).dtype is F64


def test_several_results_each_need_their_own_dtype():
    long = torch.empty(0, dtype=I64)
    for call in (torch.max, torch.min, torch.sort, torch.topk):
        args = (X,) if call is torch.sort else (X, 1) if call is torch.topk else (X, 0)
        with pytest.raises(RuntimeError) as error:
            call(*args, out=(torch.empty(0, dtype=F64), long))  # pyright: ignore[reportArgumentType]
        assert str(error.value) == "Expected out tensor to have dtype float, but got double instead"
    with pytest.raises(RuntimeError) as error:
        torch.cummax(X, 0, out=(torch.empty(0, dtype=torch.int16), long))
    assert str(error.value) == "expected scalar_type Float but found Short"
    with pytest.raises(RuntimeError) as error:
        torch.kthvalue(X, 1, out=(torch.empty(0, dtype=F64), long))
    assert str(error.value) == "output values must be of same type as input"


def test_joining_casts_where_it_can():
    assert torch.cat([X, X], out=torch.empty(0, dtype=F64)).dtype is F64
    for call in (torch.cat, torch.stack, torch.hstack):
        with pytest.raises(TypeError) as error:
            call([X, X], out=torch.empty(0, dtype=torch.int16))
        assert str(error.value) == "torch.cat(): input types can't be cast to the desired output type Short"


def test_sums_and_products_are_computed_in_the_dtype_of_out():
    assert torch.sum(X, 0, out=torch.empty((), dtype=I64)).item() == 2  # 1 - 2 + 3
    assert torch.prod(X, 0, out=torch.empty((), dtype=I64)).item() == -6
    assert torch.cumsum(X, 0, out=torch.empty(3, dtype=I64)).tolist() == [1, -1, 2]
    assert torch.cumprod(X, 0, out=torch.empty(3, dtype=I64)).tolist() == [1, -2, -6]
    assert torch.sum(torch.tensor([2.0**24, 1.0]), 0, out=torch.empty((), dtype=F64)).item() == 2**24 + 1
