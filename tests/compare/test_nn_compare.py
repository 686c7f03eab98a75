"""Functions of nn compared with PyTorch's: resizing, sampling, bags, losses of sequences: values, gradients and errors."""

import warnings
from typing import Any

import numpy as np
import pytest

import torchlike

pytorch = pytest.importorskip("torch")
pytestmark = pytest.mark.compare


def both(call: Any, *arrays: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """Compares ``call(torch, *tensors)`` with PyTorch's: dtype, values, gradients of floating inputs, or the error."""
    found = []
    for torch in (pytorch, torchlike):
        tensors = [None if a is None else torch.tensor(a) for a in arrays]
        leaves = [t.requires_grad_() for t in tensors if t is not None and t.is_floating_point()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = call(torch, *tensors)
            except Exception as error:
                found.append((type(error).__name__, str(error).splitlines()[0]))
                continue
        given = [str(result.dtype), result.detach().numpy().copy()]
        if result.requires_grad and result.numel():
            weights = torch.arange(1.0, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
            (result * weights).sum().backward()
            given += [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
        found.append(given)
    theirs, ours = found
    assert len(theirs) == len(ours), found
    for expected, value in zip(theirs, ours, strict=True):
        if isinstance(expected, np.ndarray):
            assert value.shape == expected.shape
            largest = max(1.0, np.max(np.abs(expected), initial=0, where=np.isfinite(expected)))
            np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol * largest)
        else:
            assert str(value).replace("torchlike", "torch") == str(expected)


RNG = np.random.default_rng(5)
IMAGE = RNG.standard_normal((2, 3, 5, 7)).astype(np.float32)
BYTES = RNG.integers(0, 256, (2, 3, 9, 7)).astype(np.uint8)


@pytest.mark.parametrize("to", [{"size": (3, 11)}, {"scale_factor": (1.7, 0.6)}, {"scale_factor": 2}, {"size": (1, 1)}])
@pytest.mark.parametrize(
    "how",
    [
        {"mode": "nearest"},
        {"mode": "nearest-exact"},
        {"mode": "area"},
        {"mode": "bilinear"},
        {"mode": "bilinear", "align_corners": True},
        {"mode": "bicubic"},
        {"mode": "bicubic", "align_corners": True},
        {"mode": "bilinear", "antialias": True},
        {"mode": "bicubic", "antialias": True},
        {"mode": "lanczos", "antialias": True},
        {"mode": "bilinear", "recompute_scale_factor": True},
    ],
    ids=lambda how: "-".join(str(v) for v in how.values()),
)
def test_images_are_resized(how, to):
    both(lambda torch, x: torch.nn.functional.interpolate(x, **to, **how), IMAGE)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear"])
def test_images_of_bytes_are_resized(mode):
    # PyTorch's weights for bytes are integers: one in a hundred results is rounded the other way.
    both(
        lambda torch, x: torch.nn.functional.interpolate(x, size=(4, 10), mode=mode).float() / 255, BYTES, atol=1 / 254
    )


@pytest.mark.parametrize("shape", [(1, 2, 6), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("scale", [0.5, 1.4, 3.0])
def test_rows_and_volumes_are_resized(shape, scale):
    x = RNG.standard_normal(shape)
    for mode in ("nearest", "linear" if len(shape) == 3 else "trilinear", "area"):
        both(lambda torch, x, mode=mode: torch.nn.functional.interpolate(x, scale_factor=scale, mode=mode), x)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"size": 2, "scale_factor": 2},
        {"size": (1, 2, 3)},
        {"size": 2.5},
        {"size": (0, 3)},
        {"scale_factor": (1, 2, 3)},
        {"size": 2, "mode": "linear"},
        {"size": 2, "mode": "other"},
        {"size": 2, "align_corners": True},
        {"size": 2, "antialias": True},
        {"size": 2, "mode": "lanczos"},
        {"size": 2, "recompute_scale_factor": True},
    ],
    ids=str,
)
def test_what_interpolate_refuses(arguments):
    if arguments == {"size": 2.5}:  # PyTorch's message is that of its binding
        with pytest.raises(TypeError, match="expected size to be one of int or Tuple"):
            torchlike.nn.functional.interpolate(torchlike.ones(1, 1, 2, 2), **arguments)
        return
    both(lambda torch, x: torch.nn.functional.interpolate(x, **arguments), IMAGE)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images_are_sampled_on_grids(mode, padding, corners):
    grid = RNG.uniform(-1.6, 1.6, (2, 4, 3, 2)).astype(np.float32)
    both(lambda torch, x, g: torch.nn.functional.grid_sample(x, g, mode, padding, corners), IMAGE, grid, atol=2e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_volumes_are_sampled_on_grids(mode):
    x, grid = RNG.standard_normal((1, 2, 3, 4, 5)), RNG.uniform(-1.4, 1.4, (1, 2, 3, 2, 3))
    for padding in ("zeros", "border", "reflection"):
        both(lambda torch, x, g, p=padding: torch.nn.functional.grid_sample(x, g, mode, p, False), x, grid)


def test_points_that_are_no_numbers():
    nan, inf = float("nan"), float("inf")
    grid = np.array([[[[nan, 0.0], [inf, 0], [-inf, 0], [1e30, 0.0], [3.0, 1.0]]]], np.float32)
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    for mode in ("bilinear", "nearest"):
        for padding in ("zeros", "border", "reflection"):
            both(
                lambda torch, g, m=mode, p=padding: torch.nn.functional.grid_sample(
                    torch.tensor(x), g.detach(), m, p, False
                ),
                grid,
            )


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 3, 4), (3, 3, 4, 5), (2, 3, 0, 5), (2, 3, 4, 5, 6)])
def test_affine_grids(size):
    theta = RNG.standard_normal((2, 2, 3))
    for corners in (False, True):
        both(lambda torch, t, c=corners: torch.nn.functional.affine_grid(t, size, c), theta)


TABLE = RNG.standard_normal((6, 3)).astype(np.float32)
INDEX = np.array([0, 1, 5, 1, 2, 2, 4])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [[0, 3, 3, 5], [0]])
@pytest.mark.parametrize(
    "options", [{}, {"padding_idx": 1}, {"include_last_offset": True}, {"padding_idx": -2}], ids=str
)
def test_bags_of_embeddings(mode, offsets, options):
    if "include_last_offset" in options:
        offsets = [*offsets, len(INDEX)]  # PyTorch reads outside its memory if indices are left over

    def call(torch: Any, table: Any, index: Any, at: Any) -> Any:
        return torch.nn.functional.embedding_bag(index, table, at, mode=mode, **options)

    both(call, TABLE, INDEX, np.array(offsets))


@pytest.mark.parametrize("options", [{"max_norm": 0.5}, {"mode": "other"},
                                     {"mode": "max", "scale_grad_by_freq": True}, {"padding_idx": 9}], ids=str)  # fmt: skip
def test_bags_of_one_length(options):
    both(lambda torch, w, i: torch.nn.functional.embedding_bag(i, w * 1, **options), TABLE, INDEX[:6].reshape(2, 3))


@pytest.mark.parametrize(
    ("targets", "times", "lengths"),
    [
        ([[1, 2, 2], [3, 1, 0]], (6, 5), (3, 2)),
        ([1, 2, 2, 3, 1], (6, 5), (3, 2)),
        ([[1, 2, 2], [3, 1, 0]], (6, 2), (3, 2)),
        ([[1, 2, 2], [3, 3, 0]], (2, 6), (3, 2)),  # the first one cannot be written as a literal
        ([[1, 2, 2], [3, 3, 0]], (6, 6), (0, 2)),
        ([[1, 2, 2], [3, 1, 0]], (6, 7), (3, 2)),
        ([[1, 2, 2], [3, 1, 0]], (6, 6), (3, 4)),
        ([[1, 2, 2], [3, 1, 0]], (6,), (3, 2)),
        ([[1, 2, 2], [3, 1, 0]], (6, 6), (3,)),
        ([1, 2, 2], (6, 6), (3, 2)),
        ([[[1, 2, 2], [3, 1, 0]]], (6, 6), (3, 2)),
    ],
)
@pytest.mark.parametrize("options", [{}, {"reduction": "none"}, {"reduction": "sum", "zero_infinity": True}], ids=str)
def test_losses_of_sequences_without_alignment(targets, times, lengths, options):
    scores = RNG.standard_normal((6, 2, 4))
    log_probs = scores - np.log(np.exp(scores).sum(2, keepdims=True))
    both(
        lambda torch, lp, t: torch.nn.functional.ctc_loss(lp, t, times, lengths, **options),
        log_probs,
        np.array(targets),
    )


@pytest.mark.parametrize("shape", [(2, 4, 6, 6), (4, 4, 6)])
def test_windows_of_drawn_sizes(shape):
    x = RNG.standard_normal(shape)
    samples = RNG.uniform(0, 1, (shape[0] if len(shape) == 4 else 1, 4, 2))

    def call(torch: Any, x: Any, samples: Any) -> Any:
        return torch.nn.functional.fractional_max_pool2d(x, (2, 3), (3, 2), _random_samples=samples.detach())

    both(call, x, samples)


@pytest.mark.parametrize(
    "options", [{}, {"output_size": (5, 5)}, {"output_size": (1, 1, 5, 5)}, {"output_size": (9, 9)}, {"output_size": (4, 4, 4)}],
    ids=str,
)  # fmt: skip
def test_pooling_undone(options):
    at = np.array([[[[0, 3], [9, 14]]]])
    both(
        lambda torch, x, i: torch.nn.functional.max_unpool2d(x, i, 2, **options), RNG.standard_normal((1, 1, 2, 2)), at
    )


@pytest.mark.parametrize(
    "arguments",
    [((4, 4), 2), ((4, 4), 3), ((1, 1), 2), (4, 2, 1, 0, 0), (4, 0), ((4, 4, 4), 2), (4, 2, 0), (4, 2, 1, -1)],
    ids=str,
)
def test_columns_summed_into_images(arguments):
    both(lambda torch, x: torch.nn.functional.fold(x, *arguments), RNG.standard_normal((1, 12, 9)))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_between_all_rows(p):
    x, y = RNG.standard_normal((4, 3)), RNG.standard_normal((2, 30, 3))
    x[1] = x[0]
    both(lambda torch, x: torch.nn.functional.pdist(x, p), x)
    both(lambda torch, x, y: torch.cdist(x, y, p), x, y)


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d"])
def test_gradients_of_convolutions_as_functions(name):
    n = int(name[4])
    x, w = RNG.standard_normal((2, 4, *[6] * n)), RNG.standard_normal((2, 2, *[3] * n))
    g = RNG.standard_normal((2, 2, *[3] * n))
    both(lambda torch, w, g: getattr(torch.nn.grad, f"{name}_input")(x.shape, w, g, 2, 1, 1, 2).detach(), w, g)
    both(lambda torch, x, g: getattr(torch.nn.grad, f"{name}_weight")(x, w.shape, g, 2, 1, 1, 2).detach(), x, g)
