"""The operators of torchaudio's compiled libraries, for an installed torchaudio: ``torch.ops.torchaudio`` and ``torch.ops._torchaudio``.

They walk along time, each step after the one before it, which NumPy does on the host for all channels at once. torchaudio has their
derivatives in Python.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import ops
from .._core.tensor import Tensor
from ..autograd import enable_grad, grad

__all__ = ["LIBRARIES"]


def _numbers(x: Tensor) -> np.ndarray:
    return x.detach().cpu().numpy()


def lfilter_core_loop(input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> Tensor:
    """The recursive part of a filter, written into the last argument: (batch, channels, time), after as many zeros as it looks back."""
    given, backwards = _numbers(input_signal_windows), _numbers(a_coeff_flipped)
    out = _numbers(padded_output_waveform).copy()
    order = backwards.shape[1]
    for n in range(given.shape[-1]):
        out[:, :, n + order - 1] = given[:, :, n] - (out[:, :, n : n + order] * backwards).sum(-1)
    return padded_output_waveform.copy_(ops.from_numpy(out))


def overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The feedback of an overdriven amplifier: (channels, time). The last three arguments are written."""
    sound, shaped = _numbers(waveform), _numbers(temp)
    before, fed_back = _numbers(last_in).copy(), _numbers(last_out).copy()
    out = _numbers(output_waveform).copy()
    for n in range(sound.shape[-1]):
        fed_back = shaped[:, n] - before + 0.995 * fed_back
        before = shaped[:, n]
        out[:, n] = sound[:, n] * 0.5 + fed_back * 0.75
    written = (last_in, before), (last_out, fed_back), (output_waveform, out)
    a, b, c = [tensor.copy_(ops.tensor(array, dtype=tensor.dtype)) for tensor, array in written]
    return a, b, c


def forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """The likeliest path of labels and blanks that spells the targets, a label for each time; and the probabilities as they are."""
    scores, labels = _numbers(log_probs)[0], _numbers(targets)[0]
    steps, length = scores.shape[0], labels.shape[0]
    if int(input_lengths[0]) != steps:
        raise RuntimeError("input length mismatch")
    if int(target_lengths[0]) != length:
        raise RuntimeError("target length mismatch")
    repeats = int((labels[1:] == labels[:-1]).sum())
    if steps < length + repeats:
        raise RuntimeError(f"targets length is too long for CTC. Found log_probs length: {steps}, targets length: {length}, and "
                           f"number of repeats: {repeats}")  # fmt: skip
    states = np.full(2 * length + 1, blank, labels.dtype)  # blanks stand between and around the labels
    states[1::2] = labels
    skips = np.zeros(states.shape, bool)  # a blank may be left out between two labels that differ
    skips[3::2] = labels[1:] != labels[:-1]
    best = np.full(states.shape, -np.inf, scores.dtype)
    best[:2] = scores[0, states[:2]]
    came = np.zeros((steps, len(states)), np.int64)
    for n in range(1, steps):
        ways = np.full((3, len(states)), -np.inf, scores.dtype)
        ways[0], ways[1, 1:] = best, best[:-1]
        ways[2, 2:] = np.where(skips[2:], best[:-2], -np.inf)
        # Of ways that are equally likely torchaudio takes the one that moves least.
        came[n] = ways.argmax(0)
        best = ways.max(0) + scores[n, states]
    at = len(states) - 1 if best[-1] > best[-2] else len(states) - 2
    path = np.empty((1, steps), labels.dtype)
    for n in range(steps - 1, -1, -1):
        path[0, n] = states[at]
        at -= came[n, at]
    return ops.from_numpy(path).to(targets.device), log_probs


def rnnt_loss_forward(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    clamp: float,
    fused: bool,
) -> tuple[Tensor, Tensor]:
    """The losses of a transducer for each example, and the gradient of each with respect to the logits.

    From a time and a number of labels spoken a path goes on by a blank to the next time, or by the next label.
    """
    with enable_grad():
        leaf = logits.detach()._require_grad()
        chances = leaf.log_softmax(-1) if fused else leaf
        losses = []
        for n in range(logits.shape[0]):
            steps, length = int(logit_lengths[n]), int(target_lengths[n])
            silent = chances[n, :steps, : length + 1, blank]
            spoken = chances[n, :steps, :length].gather(
                -1, targets[n, :length].long()[None, :, None].expand(steps, -1, 1)
            )[..., 0]
            # Along one time the sums of all ways are a recurrence in the number of labels: by logarithms of cumulative sums.
            ways = ops.cat([ops.zeros_like(spoken[0, :1]), spoken[0].cumsum(0)])
            for step in range(1, steps):
                sums = ops.cat([ops.zeros_like(spoken[0, :1]), spoken[step].cumsum(0)])
                ways = sums + (ways + silent[step - 1] - sums).logcumsumexp(0)
            losses.append(-(ways[length] + silent[steps - 1, length]))
        costs = ops.stack(losses)
        (gradient,) = grad(costs.sum(), leaf)
    assert gradient is not None
    if clamp > 0:
        gradient = gradient.clamp(-clamp, clamp)
    return costs.detach(), gradient


# By library: signatures, each with the implementation.
LIBRARIES: dict[str, dict[str, Callable[..., object]]] = {
    "_torchaudio": {"is_align_available() -> bool": lambda: True, "cuda_version() -> int?": lambda: None},
    "torchaudio": {
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)": (
            lfilter_core_loop
        ),
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) -> "
        "(Tensor(a!), Tensor(b!), Tensor(c!))": overdrive_core_loop,
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)": (
            forced_align
        ),
        "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
        "bool fused_log_softmax) -> (Tensor, Tensor)": rnnt_loss_forward,
    },
}  # fmt: skip
