"""Notes from the quickstart's classifier to five functions of autograd: sections 1, 2, 5 and 6, block by block."""

import re

import pytest

import torchlike as torch
from tests.programs import quickstart
from torchlike import nn
from torchlike.autograd import Variable
from torchlike.utils.data import DataLoader
from torchlike.vision import datasets
from torchlike.vision.transforms import ToTensor

NUMBER = r"\s*-?\d+\.\d+"  # with the spaces that align it


def sample(train):
    return datasets.FashionMNIST(datasets.FashionMNIST.sample_root(), train=train, transform=ToTensor())


# ---- section 1


def test_quickstart(golden, printed):
    """On the sample that is part of the package, the log has the same numbers as PyTorch's."""
    model = quickstart.run(torch, sample(True), sample(False), DataLoader, 2)
    ours, expected = printed(), golden("programs")["quickstart"]
    assert re.sub(NUMBER, "#", ours) == re.sub(NUMBER, "#", expected)
    for word, close in (("loss: ", 1e-4), ("Accuracy: ", 0.1001)):
        numbers, theirs = ([float(n) for n in re.findall(rf"{word}({NUMBER})", text)] for text in (ours, expected))
        assert numbers == (pytest.approx(theirs, rel=close) if word == "loss: " else pytest.approx(theirs, abs=close))
        assert numbers
    assert "Flatten(start_dim=1, end_dim=-1)" in ours

    classes = datasets.FashionMNIST.classes
    model.eval()
    x, y = sample(False)[0]
    with torch.no_grad():
        prediction = model(x)  # a single picture: (1, 28, 28) -> (1, 10)
    assert classes[y] == "Ankle boot"
    assert classes[prediction[0].argmax(0)] in classes


def test_a_batch_of_the_loader(printed):
    for X, y in DataLoader(sample(False), batch_size=64):
        print(X.shape, y.shape, y.dtype)
        break
    assert printed() == "torch.Size([64, 1, 28, 28]) torch.Size([64]) torch.int64\n"


def test_saving_and_loading_parameters(tmp_path):
    """The document's block is commented out; this tests that a state dict carries the parameters over."""
    trained, fresh = nn.Linear(2, 3), nn.Linear(2, 3)
    fresh.load_state_dict(trained.state_dict())
    x = torch.ones(1, 2)
    assert fresh(x).tolist() == trained(x).tolist()


# ---- section 2


def test_tensors_of_lists_and_their_parts(printed):
    vector = torch.tensor([1.0, 2.0, 3.0])
    matrix = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6]])
    cube = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    print(vector[0], vector[0].item(), matrix[0], cube[0])
    assert printed() == "tensor(1.) 1.0 tensor([1., 2., 3.]) tensor([[1., 2.],\n        [3., 4.]])\n"


def test_joining_and_viewing():
    joined = torch.cat([torch.randn(2, 5), torch.randn(3, 5)])
    assert joined.shape == (5, 5)
    x = torch.randn(2, 3, 4)
    assert x.view(2, 12).tolist() == x.view(2, -1).tolist()
    with pytest.raises(
        RuntimeError, match="^Sizes of tensors must match except in dimension 1. Expected size 2 but got size 3"
    ):
        torch.cat([torch.randn(2, 5), torch.randn(3, 5)], 1)


def test_a_sum_knows_where_it_came_from(printed):
    x = torch.tensor([1.0, 2.0, 3], requires_grad=True)
    y = torch.tensor([4.0, 5.0, 6], requires_grad=True)
    z = x + y
    print(z)
    print(z.grad_fn)
    plain = x.detach() + y.detach()
    print(plain)
    print(plain.grad_fn)
    assert printed() == (
        "tensor([5., 7., 9.], grad_fn=<AddBackward0>)\n<AddBackward0 object at 0x>\ntensor([5., 7., 9.])\nNone\n"
    )


def test_gradients_of_sums(printed):
    x = torch.tensor([1.0, 2.0, 3], requires_grad=True)
    y = torch.tensor([4.0, 5.0, 6], requires_grad=True)
    (x + y).sum().backward()
    print(x.grad)
    x.grad = None
    (x**2 + y).sum().backward()
    print(x.grad)
    assert printed() == "tensor([1., 1., 1.])\ntensor([2., 4., 6.])\n"


def test_requires_grad_after_the_fact(printed):
    x, y = torch.randn(2, 2), torch.randn(2, 2)
    print(x.requires_grad, y.requires_grad)
    print((x + y).grad_fn)
    x, y = x.requires_grad_(), y.requires_grad_()
    z = x + y
    print(z.grad_fn)
    print(z.requires_grad)
    print(z.detach().grad_fn)
    assert printed() == "False False\nNone\n<AddBackward0 object at 0x>\nTrue\nNone\n"


def test_no_grad(printed):
    x = torch.randn(2, 2, requires_grad=True)
    print(x.requires_grad, (x**2).requires_grad)
    with torch.no_grad():
        y = x**2
        print((x**2).requires_grad)
    print(y.requires_grad)
    assert printed() == "True True\nFalse\nFalse\n"


# ---- section 5


def test_two_losses_over_one_graph():
    a = Variable(torch.rand(1, 4), requires_grad=True)
    c = a**2 * 2
    mean, total = c.mean(), c.sum()
    mean.backward(retain_graph=True)
    first = a.grad.clone()
    total.backward(retain_graph=True)
    assert (a.grad - first).tolist()[0] == pytest.approx([4 * g for g in first.tolist()[0]])
    assert isinstance(a, torch.Tensor)


def test_without_retaining_the_second_pass_fails():
    """The document contains PyTorch's message as text; its own lines, uncommented, raise it."""
    a = Variable(torch.rand(1, 4), requires_grad=True)
    c = a**2 * 2
    mean, total = c.mean(), c.sum()
    mean.backward()
    with pytest.raises(RuntimeError) as caught:
        total.backward()
    assert str(caught.value) == (
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
        "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
        "calling backward."
    )


# ---- section 6


@pytest.mark.parametrize(
    ("make", "is_leaf"),
    [
        ("torch.rand(10, requires_grad=True)", True),
        # False in the document, whose device was a Mac's GPU; a tensor that is on the device already is returned itself
        ("torch.rand(10, requires_grad=True).to('cpu')", True),
        ("torch.rand(10, requires_grad=True).to(torch.float64)", False),
        ("torch.rand(10, requires_grad=True) + 2", False),
        ("torch.rand(10).to('cpu')", True),
        ("torch.rand(10).to('cpu').requires_grad_()", True),
        ("torch.rand(10, requires_grad=True, device='cpu')", True),
    ],
)
def test_which_tensors_are_leaves(make, is_leaf):
    assert eval(make, {"torch": torch}).is_leaf is is_leaf


def test_backward_of_a_small_graph(printed):
    x, a, b = (torch.tensor(v, requires_grad=True) for v in (3.0, 4.0, 5.0))
    y = a * x
    z = y + b
    z.backward()
    for tensor in (x, a, b, y, z):
        print(tensor.grad_fn)
    print(x.grad, a.grad, b.grad)
    assert printed() == (
        "None\nNone\nNone\n<MulBackward0 object at 0x>\n<AddBackward0 object at 0x>\ntensor(4.) tensor(3.) tensor(1.)\n"
    )


def test_backward_of_a_vector_needs_a_gradient():
    x, a = torch.tensor(3.0, requires_grad=True), torch.tensor([4.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="^grad can be implicitly created only for scalar outputs$"):
        (x + a).backward()
    (x + a).backward(torch.tensor([1.0, 1.0]))
    assert (x.grad.item(), a.grad.tolist()) == (2.0, [1.0, 1.0])


def test_retain_grad(printed):
    x, a, b, c, d = (torch.tensor(v, requires_grad=True) for v in (3.0, 4.0, 5.0, 4.0, 4.0))
    y = a * x + b
    y.retain_grad()
    w = c * y + d
    w.retain_grad()
    w.backward()
    print(*(t.grad for t in (x, a, b, y, c, d, w)))
    assert printed() == "tensor(16.) tensor(12.) tensor(4.) tensor(4.) tensor(17.) tensor(1.) tensor(1.)\n"


def test_register_hook_and_detach(printed):
    v = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    hook = v.register_hook(lambda grad: grad * 2)
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    print(v.grad)
    hook.remove()
    print(f"{v}")
    new = v.detach()
    new[0] = 5
    print(f"{new}\n{v}")
    assert printed() == (
        "tensor([2., 4., 6.])\ntensor([0., 0., 0.], requires_grad=True)\ntensor([5., 0., 0.])\n"
        "tensor([5., 0., 0.], requires_grad=True)\n"
    )
