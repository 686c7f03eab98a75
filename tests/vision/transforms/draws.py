"""The random numbers that transforms draw for a picture of 5 x 7 pixels, written with PyTorch's functions: needs no torchvision."""

from types import ModuleType

FLIP_PROBABILITY = 0.4
HEIGHT, WIDTH, CROP = 5, 7, 3
COUNT = 20


def drawn(torch: ModuleType) -> dict[str, list]:
    """Returns the flips of RandomHorizontalFlip, and then the corners of RandomCrop."""
    torch.manual_seed(0)
    flips = [bool(torch.rand(1) < FLIP_PROBABILITY) for _ in range(COUNT)]
    ranges = (HEIGHT - CROP + 1, WIDTH - CROP + 1)
    corners = [[torch.randint(0, length, (1,)).item() for length in ranges] for _ in range(COUNT)]
    return {"flips": flips, "corners": corners}
