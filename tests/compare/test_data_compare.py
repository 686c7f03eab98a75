"""The data layer against PyTorch itself: larger orders than the recorded ones, and the bytes of ToTensor."""

import numpy as np
import pytest

import torchlike

pytorch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


def test_epochs_of_the_size_of_mnist():
    def epochs(torch):
        torch.manual_seed(1)
        loader = torch.utils.data.DataLoader(range(60000), 1000, shuffle=True, collate_fn=list)
        return [[list(batch) for batch in loader] for _ in range(2)]

    assert epochs(torchlike) == epochs(pytorch)


def test_to_tensor_divides_as_pytorch_does():
    from torchlike.vision.transforms import ToTensor

    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    wanted = pytorch.from_numpy(every).to(pytorch.float32).div(255)
    assert ToTensor()(every).tolist() == [wanted.tolist()]
