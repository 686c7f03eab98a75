"""Functions with what carries no gradient, the user's own derivatives and writes in place, and every transform of ``torch.func``."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import torchlike


def definitions(torch: Any) -> SimpleNamespace:
    """The functions and the transforms, of one library."""
    func = torch.func
    grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap = (
        *(func.grad, func.hessian, func.jacfwd, func.jacrev),
        *(func.jvp, func.linearize, func.vjp, func.vmap),
    )

    class StraightThrough(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.round()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 5

    class Reversed(StraightThrough):
        @staticmethod
        def forward(x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return -gradient

    class WithJvp(StraightThrough):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * x * 5

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return tangent * x * 7

    class Within(WithJvp):
        @staticmethod
        def backward(ctx, gradient):
            with torch.no_grad():
                y = WithJvp.apply(gradient)
            return y * ctx.saved_tensors[0]

    class SavesAnother(WithJvp):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(WithJvp.apply(inputs[0]))
            ctx.save_for_forward(*inputs)

    class WithVmap(WithJvp):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            return WithVmap.apply(x) + info.batch_size, in_dims[0]

    def no_grad(x):
        with torch.no_grad():
            c = x * x
        return x * c

    def set_grad_enabled(x):
        with torch.set_grad_enabled(False):
            c = x * x
        return x * c

    def a_constant_within_one_of_two(x):
        with torch.no_grad():
            c = grad(lambda y: y * y * y)(x)
        return x * c

    def function_under_no_grad(x):
        y = x * 1
        with torch.no_grad():
            y = WithJvp.apply(y)
        return y * x

    def functions_under_no_grad(x):
        with torch.no_grad():
            y = WithJvp.apply(x)
            with torch.enable_grad():
                y = y * 2
            y = WithJvp.apply(y)
        return y * x

    def own_vmap_under_no_grad(x):
        y = x * x
        with torch.no_grad():
            y = WithVmap.apply(y)
        return y * x

    def function_for_the_outer_alone(x):
        y = x * 2
        with torch.no_grad():
            y = WithJvp.apply(y)
        return grad(lambda z: y * z * z)(x)

    def backward_under_no_grad(x):
        return Within.apply(x * 1) * x

    def setup_with_a_function(x):
        return SavesAnother.apply(x) * x

    def vmap_under_no_grad(x):
        y = torch.stack([x, x])[None]
        with torch.no_grad():
            y = vmap(lambda x: WithJvp.apply(x), in_dims=1, out_dims=1)(y)
            z = vmap(lambda x: x)(y)
        return z.prod() * x

    def write_what_is_saved(x):
        y = x * 1
        y.mul_(x)
        return WithJvp.apply(y) + x

    def write_to_zeros_that_are_saved(x):
        y = torch.zeros(2)
        y.copy_(torch.stack([x, x]))
        y[1:].mul_(x)
        return WithJvp.apply(y).sum()

    kept = []  # outlives the transform

    def write_what_is_kept(x):
        y = x * 1
        y.mul_(x)
        kept[:] = [y]
        return y * 2

    def write_to_argument(x):
        x.add_(1)
        return x * x

    def write_to_clone(x):
        y = x.clone()
        y.add_(x)
        return y * y

    def write_to_view(x):
        y = torch.stack([x, x])
        y[0].mul_(x)
        return y.prod()

    def write_without_gradient(x):
        y = x * x
        with torch.no_grad():
            y.mul_(2)
        return y * x

    def own_gradient(x):
        y = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(y * y * y, y)
        return g * x

    about_functions = {
        "a Function under no_grad": function_under_no_grad,
        "two under no_grad": functions_under_no_grad,
        "vmap under no_grad": own_vmap_under_no_grad,
        "a Function that the outer derivative sees": function_for_the_outer_alone,
        "no_grad in a backward": backward_under_no_grad,
        "a Function in a setup_context": setup_with_a_function,
        "mapped under no_grad": vmap_under_no_grad,
        "write to what is saved": write_what_is_saved,
        "write to zeros that are saved": write_to_zeros_that_are_saved,
        "write to what is kept": write_what_is_kept,
    }
    functions = {
        "detach": lambda x: x * x.detach(),
        "data": lambda x: x * x.data,
        "no_grad": no_grad,
        "set_grad_enabled": set_grad_enabled,
        "no_grad around a transform": a_constant_within_one_of_two,
        "detached shift": lambda x: (x - (x * 2).detach()).exp() * x,
        "straight through": StraightThrough.apply,
        "reversal": lambda x: Reversed.apply(x * x) * 2,
        "jvp": lambda x: WithJvp.apply(x) * x,
        "vmap": lambda x: WithVmap.apply(x) * x,
        "write to the argument": write_to_argument,
        "write to a clone": write_to_clone,
        "write to a view": write_to_view,
        "write under no_grad": write_without_gradient,
        **about_functions,
    }

    def one():
        return torch.tensor(1.0)

    def three():
        return torch.tensor(3.0)

    def examples():
        return torch.tensor([1.0, 2.5])

    def backward(f):
        x = examples().requires_grad_()
        out = vmap(f)(x)
        out.sum().backward()
        return out, x.grad

    def written(f):
        x = examples()
        return vmap(f)(x), x

    def linear(f):
        out, push = linearize(f, three())
        return out, push(one())

    transforms = {
        "grad": lambda f: grad(f)(three()),
        "vjp": lambda f: vjp(f, three())[1](one()),
        "jvp": lambda f: jvp(f, (three(),), (one(),)),
        "jacrev": lambda f: jacrev(f)(three()),
        "jacfwd": lambda f: jacfwd(f)(three()),
        "hessian": lambda f: hessian(f)(three()),
        "linearize": linear,
        "vmap": written,
        "backward of vmap": backward,
        "vmap of grad": lambda f: vmap(grad(f))(examples()),
        "vmap of jvp": lambda f: vmap(lambda x: jvp(f, (x,), (one(),))[1])(examples()),
        "vmap of hessian": lambda f: vmap(hessian(f))(examples()),
        "vmap of vmap": lambda f: vmap(vmap(f))(torch.stack([examples(), examples() + 1])),
        "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(examples()),
        "jacrev of vmap": lambda f: jacrev(vmap(f))(examples()),
        "jacfwd of vmap": lambda f: jacfwd(vmap(f))(examples()),
        "grad of grad": lambda f: grad(grad(f))(three()),
        "jvp of grad": lambda f: jvp(grad(f), (three(),), (one(),)),
        "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (one(),))[1])(three()),
        "jvp of jvp": lambda f: jvp(lambda x: jvp(f, (x,), (one(),))[1], (three(),), (one(),)),
        "backward of grad": lambda f: (lambda x: (grad(f)(x).backward(), x.grad)[1])(three().requires_grad_()),
    }

    def numbers(result):
        return [numbers(r) for r in result] if isinstance(result, tuple) else (result + 0).tolist()

    def found(transform, function):
        try:
            return numbers(transforms[transform](functions[function]))
        except (RuntimeError, NotImplementedError) as error:
            return type(error).__name__

    return SimpleNamespace(**locals())


OURS = definitions(torchlike)
# PyTorch's own faults, or limits of it that torchlike does not have.
LEFT_OUT = {
    ("linearize", "write to the argument"),  # it traces the function a second time, on what the first time has written
    ("linearize", "write to a view"),
    ("vmap of jvp", "write to a view"),  # refused: the tangent of a view that is written to is not mapped
    ("linearize", "write to zeros that are saved"),
    # Refused: the zeros are not mapped.
    *[(name, "write to zeros that are saved") for name in OURS.transforms if "vmap" in name],
    # What ``save_for_forward`` kept has lost the outer tangent; or writes are refused, as the two tangents share memory.
    *[("jvp of jvp", name) for name in ("jvp", "vmap", *OURS.about_functions)],
}


def everything(torch: ModuleType) -> dict[str, Any]:
    """What each function gives under each transform: numbers, or the type of an error."""
    theirs = definitions(torch)
    return {
        transform: {
            function: theirs.found(transform, function)
            for function in theirs.functions
            if (transform, function) not in LEFT_OUT
        }
        for transform in theirs.transforms
    }
