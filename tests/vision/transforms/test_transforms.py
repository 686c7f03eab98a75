"""Transforms: values, random draws, printed forms and errors."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.vision.transforms.draws import COUNT, CROP, FLIP_PROBABILITY, HEIGHT, WIDTH
from torchlike.vision import transforms
from torchlike.vision.transforms import InterpolationMode, functional as F

pytestmark = pytest.mark.composed

BYTES = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)


@pytest.fixture
def pil():
    return pytest.importorskip("PIL.Image")


def test_every_byte_becomes_what_pytorch_divides():
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    tensor = transforms.ToTensor()(every)
    assert tensor.dtype == torch.float32
    assert tensor.tolist() == [(every.astype(np.float32) / np.float32(255)).tolist()]
    assert tensor.tolist() != [(every.astype(np.float32) * np.float32(1 / 255)).tolist()]


@pytest.mark.parametrize(("shape", "wanted"), [((5, 7), (1, 5, 7)), ((5, 7, 3), (3, 5, 7)), ((5, 7, 1), (1, 5, 7))])
def test_arrays_become_channels_first(shape, wanted):
    array = BYTES.reshape(-1)[: np.prod(shape)].reshape(shape)
    tensor = F.to_tensor(array)
    assert tensor.shape == wanted
    planes = array.reshape(5, 7, -1).transpose(2, 0, 1)
    assert tensor.tolist() == (planes.astype(np.float32) / np.float32(255)).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
def test_other_arrays_are_not_scaled_nor_shared(dtype):
    array = (BYTES % 2).astype(dtype)
    tensor = F.to_tensor(array)
    before = tensor.tolist()
    assert before == array.transpose(2, 0, 1).tolist()
    array[:] = 0
    assert tensor.tolist() == before


def test_to_tensor_follows_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    assert F.to_tensor(BYTES).dtype == torch.float64
    assert F.to_tensor(BYTES).tolist() == (BYTES.transpose(2, 0, 1) / 255).tolist()


MODES = {"L": "float32", "RGB": "float32", "RGBA": "float32", "1": "float32", "F": "float32", "I": "int32"}


@pytest.mark.parametrize(("mode", "dtype"), [*MODES.items(), ("I;16", "uint16")])
def test_images_of_each_mode(pil, mode, dtype):
    image = pil.new(mode, (7, 5), 1)
    tensor = F.to_tensor(image)
    assert tensor.shape == (len(image.getbands()), 5, 7)
    assert str(tensor.dtype) == f"torch.{dtype}"
    first = {"1": 1.0, "I": 1, "F": 1.0, "I;16": 1}.get(mode, float(np.float32(1) / np.float32(255)))
    assert tensor.tolist()[0][0][0] == first


def test_pil_to_tensor_and_back(pil):
    image = pil.fromarray(BYTES)
    tensor = transforms.PILToTensor()(image)
    assert tensor.dtype == torch.uint8
    assert tensor.tolist() == BYTES.transpose(2, 0, 1).tolist()
    assert np.array_equal(np.asarray(transforms.ToPILImage()(tensor)), BYTES)
    assert np.array_equal(np.asarray(F.to_pil_image(F.to_tensor(BYTES))), BYTES)
    assert np.array_equal(np.asarray(F.to_pil_image(F.to_tensor(BYTES[..., 0]))), BYTES[..., 0])


def test_normalize():
    tensor = F.to_tensor(BYTES)
    found = transforms.Normalize((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))(tensor)
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    assert found.dtype == torch.float32
    assert found.tolist() == ((np.array(tensor.tolist(), np.float32) - mean) / std).tolist()
    assert transforms.Normalize(0.5, 0.5)(tensor).shape == (3, 5, 7)


def test_normalize_in_place_and_with_gradient():
    tensor = F.to_tensor(BYTES)
    wanted = F.normalize(tensor, [0.5], [0.25]).tolist()
    assert F.normalize(tensor, [0.5], [0.25], inplace=True) is tensor
    assert tensor.tolist() == wanted
    leaf = torch.tensor([[[1.0, 2.0]]], requires_grad=True)
    F.normalize(leaf, [0.5], [0.25]).sum().backward()
    assert leaf.grad.tolist() == [[[4.0, 4.0]]]


def test_what_is_drawn(golden):
    recorded = golden("data")["transforms"]
    picture = F.to_tensor(np.arange(HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH))
    torch.manual_seed(0)
    flip = transforms.RandomHorizontalFlip(FLIP_PROBABILITY)
    assert [flip(picture).tolist()[0][0][0] == WIDTH - 1 for _ in range(COUNT)] == recorded["flips"]
    crop = transforms.RandomCrop(CROP)
    first = [crop(picture).tolist()[0][0][0] for _ in range(COUNT)]
    assert [[number // WIDTH, number % WIDTH] for number in first] == recorded["corners"]


def test_a_crop_of_the_whole_draws_nothing():
    torch.manual_seed(0)
    state = torch.get_rng_state().tolist()
    picture = F.to_tensor(BYTES)
    assert transforms.RandomCrop((5, 7))(picture).tolist() == picture.tolist()
    assert torch.get_rng_state().tolist() == state


@pytest.mark.parametrize("kind", ["tensor", "image"])
def test_crops_and_borders(kind, request):
    grey = BYTES[..., 0]
    if kind == "tensor":
        make, read = (
            (lambda array: torch.tensor(array[None].tolist(), dtype=torch.uint8)),
            lambda t: np.array(t.tolist())[0],
        )
    else:
        make, read = request.getfixturevalue("pil").fromarray, np.asarray
    picture = make(grey)
    assert np.array_equal(read(F.hflip(picture)), grey[:, ::-1])
    assert np.array_equal(read(F.crop(picture, 1, 2, 3, 4)), grey[1:4, 2:6])
    assert np.array_equal(read(F.crop(picture, -1, 5, 3, 4)), np.pad(grey, ((1, 0), (0, 2)))[:3, 5:9])
    assert np.array_equal(read(F.crop(picture, 4, -2, 3, 4)), np.pad(grey, ((0, 2), (2, 0)))[4:7, :4])
    assert np.array_equal(read(F.pad(picture, [1, 2, 3, 4])), np.pad(grey, ((2, 4), (1, 3))))
    assert np.array_equal(read(F.pad(picture, 2, 9)), np.pad(grey, 2, constant_values=9))
    assert np.array_equal(
        read(F.pad(picture, [1, 2], padding_mode="reflect")), np.pad(grey, ((2, 2), (1, 1)), "reflect")
    )
    assert np.array_equal(read(transforms.CenterCrop(3)(picture)), grey[1:4, 2:5])
    assert np.array_equal(read(transforms.CenterCrop((7, 3))(picture)), np.pad(grey, ((1, 1), (0, 0)))[:, 2:5])
    assert read(transforms.RandomCrop(9, padding=2, pad_if_needed=True)(picture)).shape == (9, 9)


@pytest.mark.parametrize(
    ("size", "max_size", "wanted"),
    [(10, None, (10, 14)), ((4, 6), None, (4, 6)), ([10], None, (10, 14)), (10, 12, (8, 12)), (5, None, (5, 7))],
)
def test_resize_of_an_image(pil, size, max_size, wanted):
    image = transforms.Resize(size, max_size=max_size)(pil.fromarray(BYTES))
    assert (image.height, image.width) == wanted


@pytest.mark.parametrize(
    ("mode", "antialias"), [("nearest", True), ("nearest-exact", False), ("bilinear", True), ("bicubic", True), ("bicubic", False)]
)  # fmt: skip
def test_tensors_are_resized_as_interpolate_does(mode, antialias):
    picture = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, 9, 13), np.uint8))
    resize = transforms.Resize((5, 20), InterpolationMode(mode), antialias=antialias)
    corners = False if mode.startswith("bi") else None
    wanted = torch.nn.functional.interpolate(
        picture.float()[None], (5, 20), mode=mode, align_corners=corners, antialias=antialias and mode.startswith("bi")
    )[0]
    torch.testing.assert_close(resize(picture.float()), wanted)
    found = resize(picture)  # bytes are rounded
    assert found.dtype is torch.uint8
    assert (found.float() - wanted.clamp(0, 255)).abs().max() <= 0.5001
    watched = picture.float().requires_grad_()  # differentiable, with any number of leading dimensions
    torch.testing.assert_close(resize(watched[None, None])[0, 0].detach(), wanted)


def test_resize_of_a_tensor_keeps_proportions():
    picture = torch.zeros(1, 5, 7)
    assert transforms.Resize(10, max_size=12)(picture).shape == (1, 8, 12)
    assert transforms.Resize(5, 2)(picture) is picture  # pyright: ignore[reportArgumentType]


def test_pil_is_always_antialiased(pil):
    with pytest.warns(UserWarning, match="^Anti-alias option is always applied for PIL Image input"):
        transforms.Resize(3, antialias=False)(pil.fromarray(BYTES))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_borders_of_a_picture_with_a_gradient(mode):
    picture = torch.arange(12.0).view(1, 3, 4)
    wanted = F.pad(picture, [1, 2, 3, 0], padding_mode=mode)
    found = F.pad(picture.requires_grad_(), [1, 2, 3, 0], padding_mode=mode)
    assert found.requires_grad
    assert torch.equal(found, wanted)


def test_pictures_fill_the_range_of_their_dtype():
    convert = F.convert_image_dtype
    picture = torch.tensor([0, 51, 255], dtype=torch.uint8)
    assert convert(picture).tolist() == torch.tensor([0.0, 0.2, 1.0]).tolist()
    assert convert(picture) is not picture and convert(picture, torch.uint8) is picture
    assert torch.equal(convert(convert(picture), torch.uint8), picture)
    assert convert(picture, torch.int16).tolist() == [0, 51 * 128, 255 * 128]
    assert torch.equal(convert(convert(picture, torch.int16), torch.uint8), picture)
    assert convert(torch.ones(1), torch.float64).dtype is torch.float64


PRINTED = {
    "ToTensor()": transforms.ToTensor(),
    "PILToTensor()": transforms.PILToTensor(),
    "ConvertImageDtype()": transforms.ConvertImageDtype(torch.float32),
    "ToPILImage()": transforms.ToPILImage(),
    "Normalize(mean=(0.5,), std=(0.25,))": transforms.Normalize((0.5,), (0.25,)),
    "Lambda()": transforms.Lambda(abs),
    "Resize(size=32, interpolation=bilinear, max_size=None, antialias=True)": transforms.Resize(32),
    "CenterCrop(size=(28, 28))": transforms.CenterCrop(28),
    "RandomCrop(size=(28, 24), padding=4)": transforms.RandomCrop((28, 24), padding=4),
    "RandomHorizontalFlip(p=0.5)": transforms.RandomHorizontalFlip(),
    "Compose(\n    ToTensor()\n    Lambda()\n)": transforms.Compose([transforms.ToTensor(), transforms.Lambda(abs)]),
}


@pytest.mark.parametrize("text", PRINTED, ids=lambda text: text.split("(")[0])
def test_printed_form(text):
    assert repr(PRINTED[text]) == text


BAD: Any = {"array": BYTES, "number": 3}

REFUSED = [
    (lambda: F.to_tensor([1]), TypeError, "pic should be PIL Image or ndarray. Got <class 'list'>"),
    (lambda: F.to_tensor(np.zeros(3)), ValueError, "pic should be 2/3 dimensional. Got 1 dimensions."),
    (lambda: F.pil_to_tensor(BYTES), TypeError, "pic should be PIL Image. Got <class 'numpy.ndarray'>"),
    (lambda: F.to_pil_image(3), TypeError, "pic should be Tensor or ndarray. Got <class 'int'>."),
    (lambda: F.normalize(BAD["array"], 0, 1), TypeError, "img should be Tensor Image. Got <class 'numpy.ndarray'>"),
    (
        lambda: F.normalize(torch.tensor([[[1]]]), 0, 1),
        TypeError,
        "Input tensor should be a float tensor. Got torch.int64.",
    ),
    (
        lambda: F.normalize(torch.tensor([[1.0]]), 0, 1),
        ValueError,
        "Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = torch.Size([1, 1])",
    ),
    (
        lambda: F.normalize(torch.tensor([[[1.0]]]), [0], [0]),
        ValueError,
        "std evaluated to zero after conversion to torch.float32, leading to division by zero.",
    ),
    (lambda: transforms.Lambda(BAD["number"]), TypeError, "Argument lambd should be callable, got 'int'"),
    (
        lambda: transforms.RandomCrop(9)(F.to_tensor(BYTES)),
        ValueError,
        "Required crop size (9, 9) is larger than input image size (5, 7)",
    ),
    (
        lambda: transforms.Resize(3, InterpolationMode.BOX)(F.to_tensor(BYTES)),
        NotImplementedError,
        "Input Error: Only 3D, 4D and 5D input Tensors supported",
    ),
    (
        lambda: transforms.Resize(3, BAD["array"]),
        TypeError,
        "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant",
    ),
    (
        lambda: transforms.ConvertImageDtype(torch.int32)(torch.ones(1)),
        RuntimeError,
        "The cast from torch.float32 to torch.int32 cannot be performed safely.",
    ),
    (lambda: transforms.ConvertImageDtype(BAD["number"]), TypeError, "Argument dtype should be of type torch.dtype"),
]


@pytest.mark.parametrize(("call", "kind", "told"), REFUSED)
def test_what_is_refused(call, kind, told):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).startswith(told)
