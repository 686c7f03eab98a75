"""The geometry of views, compared with NumPy's strides."""

import numpy as np
import pytest

from torchlike._core.strided import Strided, contiguous_strides


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (1, 3, 1), (2, 0, 3)])
def test_contiguous_strides_are_numpys(shape):
    expected = tuple(s // 8 for s in np.empty(shape).strides) if 0 not in shape else (3, 3, 1)
    assert contiguous_strides(shape) == expected


def layout(array, base):
    offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 8
    return Strided(array.shape, [s // 8 for s in array.strides], offset)


BASE = np.arange(24.0).reshape(2, 3, 4)
VIEWS = [
    BASE,
    BASE[1],
    BASE[:, 1],
    BASE[..., 2],
    BASE[:, ::2, 1::2],
    BASE.transpose(2, 0, 1),
    BASE[1, 1:, :3].T,
    BASE[:, None, 1:2],
    BASE.reshape(-1)[3:9],
    BASE.diagonal(0, 1, 2),
]


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_positions_are_the_elements_places(view):
    assert (layout(view, BASE).positions() == view).all()


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_contiguous_is_numpys(view):
    assert layout(view, BASE).contiguous == view.flags.c_contiguous


@pytest.mark.parametrize("view", VIEWS, ids=range(len(VIEWS)))
def test_windows_select_the_same_elements(view):
    """If a layout is a window in each dimension, reading the window gives the view."""
    found = layout(view, BASE).windows_of(BASE.shape)
    if found is None:
        assert view is VIEWS[-1] or view is VIEWS[-2]  # a diagonal, and a run across rows
        return
    starts, steps, order = found
    sizes = [1 if d is None else view.shape[d] for d in order]
    window = BASE[tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, sizes, steps, strict=True))]
    real = [d for d in order if d is not None]
    rest = [d for d in range(view.ndim) if d not in real]
    assert (window.reshape(-1) == view.transpose([*real, *rest]).reshape(-1)).all()


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((3,), (1,), False),
        ((3,), (0,), True),
        ((1,), (0,), False),
        ((3, 2), (1, 1), True),
        ((3, 2), (2, 1), False),
        ((2, 2), (3, 2), False),
    ],
)
def test_overlaps(shape, strides, overlaps):
    assert Strided(shape, strides).overlaps == overlaps


def test_reshape_refuses_what_needs_a_copy():
    turned = Strided((3, 4)).transpose(1, 0)
    with pytest.raises(ValueError, match="without copying"):
        turned.reshape(12)
    assert turned[:, :1].reshape(4).strides == (1,)
