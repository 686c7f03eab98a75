"""no_grad, enable_grad, set_grad_enabled and inference_mode as blocks, as decorators, in generators and in threads."""

import inspect
import threading

import pytest

import torchlike as torch
from torchlike.utils import _contextlib


def recording():
    return (torch.ones(1, requires_grad=True) * 2).requires_grad


# ---- blocks


def test_nesting():
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not recording()
        with torch.enable_grad():
            assert recording()
            with torch.set_grad_enabled(False):
                assert not recording()
            assert recording()
        assert not torch.is_grad_enabled()
    assert recording()


def test_a_block_left_by_an_error_is_left():
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        raise ZeroDivisionError
    assert torch.is_grad_enabled()


def test_one_object_used_again():
    off = torch.no_grad()
    for _ in range(2):
        with off:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()


def test_set_grad_enabled_acts_at_once():
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_leaves_keep_requires_grad_within():
    w = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert w.requires_grad
        assert torch.ones(1, requires_grad=True).requires_grad
        made = w * 2
        w += 1  # under no_grad a leaf may be written
        w[0] = 7.0
    assert (made.requires_grad, made.grad_fn, w.item(), w.is_leaf) == (False, None, 7.0, True)
    with pytest.raises(
        RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation."
    ):
        w += 1


# ---- decorators


@torch.no_grad()
def called(x):
    """What it does."""
    return x * 2, torch.is_grad_enabled()


@torch.no_grad
def without_parentheses(x):
    return x * 2


@torch.set_grad_enabled(False)
def switched(x):
    return x * 2


@torch.enable_grad()
def on(x):
    return x * 2


@torch.inference_mode()
def inferring(x):
    return x * 2


def test_decorators():
    assert torch.is_grad_enabled()  # making the decorator changed nothing
    w = torch.ones(1, requires_grad=True)
    result, enabled = called(w)
    assert (result.requires_grad, enabled) == (False, False)
    assert (called.__name__, called.__doc__) == ("called", "What it does.")
    assert not without_parentheses(w).requires_grad
    assert not switched(w).requires_grad
    assert inferring(w).is_inference()
    with torch.no_grad():
        assert on(w).requires_grad
    assert torch.is_grad_enabled()


def test_a_decorated_function_may_call_itself():
    @torch.no_grad()
    def down(n):
        return torch.is_grad_enabled() if n == 0 else down(n - 1)

    assert down(3) is False
    assert torch.is_grad_enabled()


def test_a_generator_has_the_mode_only_while_it_runs():
    @torch.no_grad()
    def numbers():
        got = yield torch.is_grad_enabled()
        try:
            yield got, torch.is_grad_enabled()
        except KeyError:
            yield "caught", torch.is_grad_enabled()
        return "end"

    generator = numbers()
    assert next(generator) is False
    assert torch.is_grad_enabled()
    assert generator.send("hello") == ("hello", False)
    assert generator.throw(KeyError()) == ("caught", False)
    assert torch.is_grad_enabled()
    with pytest.raises(StopIteration, match="end"):
        next(generator)


# ---- inference mode


def test_tensors_made_in_inference_mode():
    w = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()
        made, fresh = w * 2, torch.zeros(2)
        assert (made.is_inference(), fresh.is_inference(), w.is_inference()) == (True, True, False)
        fresh.add_(1)
    assert not torch.is_inference_mode_enabled()
    assert (made.is_inference(), (made + 1).is_inference()) == (True, False)
    assert (made + 1).tolist() == [3.0, 3.0]


def test_inference_mode_can_be_switched_off_within():
    with torch.inference_mode():
        with torch.inference_mode(False):
            assert recording()
            assert not torch.ones(1).is_inference()
        assert not recording()


def test_what_inference_tensors_refuse():
    with torch.inference_mode():
        made = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        made.add_(1)
    assert str(caught.value) == (
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
        "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
    )
    with pytest.raises(RuntimeError) as caught:
        made * w
    assert str(caught.value) == (
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
        "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
        "`torch.no_grad()` instead of `torch.inference_mode()`."
    )
    with pytest.raises(
        RuntimeError, match="^Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.$"
    ):
        made.requires_grad_()
    with pytest.raises(RuntimeError, match="^Inference tensors do not track version counter.$"):
        _ = made._version
    (made.clone() * w).sum().backward()
    assert w.grad.tolist() == made.tolist()
    assert (made + w).requires_grad  # an addition saves no operand


# ---- threads


def test_each_thread_has_its_own_mode():
    inside, done = threading.Event(), threading.Event()
    seen = {}

    def work():
        seen["at start"] = torch.is_grad_enabled()
        with torch.no_grad():
            inside.set()
            done.wait(10)
            seen["within"] = torch.is_grad_enabled()

    thread = threading.Thread(target=work)
    with torch.no_grad():
        thread.start()
    inside.wait(10)
    assert torch.is_grad_enabled()
    assert recording()
    done.set()
    thread.join()
    assert seen == {"at start": True, "within": False}


# ---- as decorators of generators


DECORATORS = {
    "no_grad": (lambda: torch.no_grad(), False),
    "no_grad without parentheses": (lambda: torch.no_grad, False),
    "inference_mode": (lambda: torch.inference_mode(), False),
    "enable_grad": (lambda: torch.enable_grad(), True),
    "set_grad_enabled": (lambda: torch.set_grad_enabled(False), False),
    "set_multithreading_enabled": (lambda: torch.autograd.grad_mode.set_multithreading_enabled(True), True),
    "dual_level": (lambda: torch.autograd.forward_ad.dual_level(), True),
    "a class of one's own": (lambda: Own(), False),
}


class Own(_contextlib._NoParamDecoratorContextManager):
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, *exc):
        torch.set_grad_enabled(self.before)


@pytest.mark.parametrize(("make", "enabled"), DECORATORS.values(), ids=DECORATORS)
def test_a_generator_method_that_is_decorated_is_a_method(make, enabled):
    decorator = make()

    class Model:
        name = "model"

        @decorator
        def stream(self, count=1):
            """Counts."""
            for i in range(count):
                got = yield self.name, i, torch.is_grad_enabled()
                assert got is None or got == "more"
            return "end"

        @classmethod
        @decorator
        def of_class(cls):
            yield cls.name

        @decorator
        def whole(self):
            return self.name, torch.is_grad_enabled()

    torch.set_grad_enabled(True)
    model = Model()
    stream = model.stream(2)
    assert next(stream) == ("model", 0, enabled) and torch.is_grad_enabled()
    assert stream.send("more") == ("model", 1, enabled) and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as ended:
        next(stream)
    assert ended.value.value == "end" and torch.is_grad_enabled()
    assert list(Model.stream(model)) == [("model", 0, enabled)] and list(Model.of_class()) == ["model"]
    assert model.whole() == ("model", enabled) and torch.is_grad_enabled()
    assert inspect.isfunction(Model.stream) and inspect.isgeneratorfunction(Model.stream)
    assert (Model.stream.__name__, Model.stream.__doc__) == ("stream", "Counts.")


def test_context_decorator_takes_a_context_or_what_makes_one():
    within = _contextlib.context_decorator
    assert within(lambda: torch.no_grad(), torch.is_grad_enabled)() is False and torch.is_grad_enabled()
    with pytest.raises(AssertionError, match="making it ambiguous which interface to use"):
        within(torch.no_grad(), torch.is_grad_enabled)
    with pytest.raises(RuntimeError, match="^Cannot decorate classes; it is ambiguous"):
        within(lambda: torch.no_grad(), Own)
    assert issubclass(torch.no_grad, _contextlib._DecoratorContextManager)


RESHAPED_IN_PLACE = {
    "t_": ((), (3, 2)),
    "transpose_": ((0, 1), (3, 2)),
    "swapdims_": ((0, 1), (3, 2)),
    "unsqueeze_": ((0,), (1, 2, 3)),
    "squeeze_": ((), (2, 3)),
    "as_strided_": (((2,), (1,)), (2,)),
}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", RESHAPED_IN_PLACE)
def test_a_leaf_reshaped_in_place_without_gradients_still_requires_one(name, mode):
    arguments, shape = RESHAPED_IN_PLACE[name]
    leaf, got = torch.ones(2, 3, requires_grad=True), []
    leaf.register_hook(lambda grad: got.append(tuple(grad.shape)))
    leaf.sum()  # it has an accumulator
    with mode():
        getattr(leaf, name)(*arguments)
    assert (leaf.requires_grad, leaf.is_leaf, leaf._version, tuple(leaf.shape)) == (True, True, 1, shape)
    (leaf * 2).sum().backward()
    assert leaf.grad is not None
    assert tuple(leaf.grad.shape) == shape
    assert got == [shape]


def test_a_parameter_reshaped_in_place_without_gradients_trains():
    layer = torch.nn.Linear(2, 2)
    with torch.no_grad():
        layer.weight.t_()
    assert layer.weight.requires_grad
    layer(torch.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None


def test_a_view_reshaped_in_place_without_gradients_follows_its_base():
    leaf = torch.ones(2, 2, requires_grad=True)
    view = (leaf * 2)[:1]
    with torch.no_grad():
        view.t_()
    assert view.requires_grad
    assert view.grad_fn is not None
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view * 3).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [[6.0, 6.0], [0.0, 0.0]]


def test_a_result_reshaped_in_place_without_gradients_takes_gradients_that_fit_its_former_shape():
    leaf = torch.ones(1, 2, requires_grad=True)
    results = [leaf * 2, leaf * 2]
    with torch.no_grad():
        results[0].unsqueeze_(0)
        results[1].t_()
    assert all(result.requires_grad for result in results)
    (results[0] * 3).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [[6.0, 6.0]]
    words = r"Function MulBackward0 returned an invalid gradient at index 0 - got \[2, 1\] but expected shape compatible with \[1, 2\]"
    with pytest.raises(RuntimeError, match=words):
        (results[1] * 3).sum().backward()


@pytest.mark.parametrize(
    "look", [torch.Tensor.detach, lambda t: t.data, torch.Tensor.t, lambda t: t[0], torch.Tensor.unbind]
)
def test_what_shares_the_memory_of_an_inference_tensor_is_one(look):
    with torch.inference_mode():
        tensor = torch.ones(2, 2)
        views = [look(tensor)]
    for view in (*views, look(tensor)):
        assert (view if isinstance(view, torch.Tensor) else view[0]).is_inference()
    with torch.inference_mode():
        view = look(torch.ones(2, 2))
    normal = torch.ones(2, 2)
    with torch.inference_mode():
        view = look(normal)
    assert not (view if isinstance(view, torch.Tensor) else view[0]).is_inference()
