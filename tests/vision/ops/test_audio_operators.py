"""torch.ops.torchaudio, which stands in for the library that an installed torchaudio loads: the numbers are torchaudio's."""

# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import pytest

import torchlike as torch

pytestmark = pytest.mark.uncompiled

# What torchaudio 2.11 gives.
PATH = [1, 0, 1, 1, 0, 0, 2, 2, 2, 5, 5, 5, 5, 5, 5, 5, 0, 3, 0, 3]
COSTS = [12.18353, 7.91029]
GRADIENT = [
    [-0.12363, -0.0739, 0.00872, 0.08374, 0.10507], [-0.64726, 0.01566, 0.00161, 0.47299, 0.157],
    [-0.05429, 0.00417, 0.00596, 0.01991, 0.02425],
]  # fmt: skip


@pytest.fixture(scope="module")
def audio():
    for name in ("_torchaudio", "libtorchaudio"):
        torch.ops.load_library(f"/packages/torchaudio/lib/{name}.abi3.so")
    return torch.ops.torchaudio


def test_the_library_says_what_it_has(audio):
    assert torch.ops._torchaudio.is_align_available()
    assert torch.ops._torchaudio.cuda_version() is None


def test_a_recursive_filter_writes_into_its_output(audio):
    sound, backwards = torch.tensor([[[1.0, 0, 0, 2]]]), torch.tensor([[0.2, -0.5, 1.0]])
    out = torch.zeros(1, 1, 6)
    assert audio._lfilter_core_loop(sound, backwards, out) is out
    torch.testing.assert_close(out[0, 0], torch.tensor([0.0, 0.0, 1.0, 0.5, 0.05, 1.925]))


def test_an_overdriven_amplifier_feeds_back(audio):
    sound, shaped = torch.tensor([[0.1, 0.2, -0.3]]), torch.tensor([[0.5, 0.6, -0.6]])
    last_in, last_out, out = torch.zeros(1), torch.zeros(1), torch.zeros(1, 3)
    audio._overdrive_core_loop(sound, shaped, last_in, last_out, out)
    torch.testing.assert_close(out, torch.tensor([[0.425, 0.548125, -0.6041156]]))
    torch.testing.assert_close(last_in, torch.tensor([-0.6]))


def test_a_path_spells_the_targets(audio):
    torch.manual_seed(0)
    chances = torch.randn(1, 20, 6).log_softmax(-1)
    lengths = torch.tensor([20]), torch.tensor([6])
    path, scores = audio.forced_align(chances, torch.tensor([[1, 1, 2, 5, 3, 3]]), *lengths, 0)
    assert path[0].tolist() == PATH
    assert torch.equal(scores, chances)
    with pytest.raises(RuntimeError, match="targets length is too long for CTC"):
        audio.forced_align(chances[:, :6], torch.tensor([[1, 1, 2, 5, 3, 3]]), torch.tensor([6]), torch.tensor([6]), 0)


def test_losses_of_a_transducer_and_their_gradients(audio):
    torch.manual_seed(0)
    logits = torch.randn(2, 4, 3, 5)
    lengths = torch.tensor([[4, 3], [2, 1]], dtype=torch.int32)
    targets = torch.tensor([[1, 2], [3, 1]], dtype=torch.int32)
    costs, gradient = audio.rnnt_loss_forward(logits, targets, *lengths, 0, -1.0, True)
    torch.testing.assert_close(costs, torch.tensor(COSTS), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient[0, 1], torch.tensor(GRADIENT), rtol=1e-4, atol=1e-4)
    assert not gradient[1, 3].any()
    _, limited = audio.rnnt_loss_forward(logits, targets, *lengths, 0, 0.1, True)
    torch.testing.assert_close(limited, gradient.clamp(-0.1, 0.1))
