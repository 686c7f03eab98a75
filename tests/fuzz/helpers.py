"""Small models, functions and a worker that programs may use besides the library."""

import concurrent.futures


def helpers(torch):
    """Returns the helpers by name, defined with this library's classes."""
    nn, F = torch.nn, torch.nn.functional

    class Tied(nn.Module):
        """A model that uses one weight in two layers and in a product."""

        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(F.relu(self.b(F.relu(self.a(x)))) + x @ self.a.weight)

    class Own(nn.Module):
        """Has a buffer that counts calls, and behaves differently in training."""

        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
            self.norm, self.head = nn.LayerNorm(4), nn.Linear(4, 2)
            self.register_buffer("calls", torch.zeros(()))
            self.scale = nn.Parameter(torch.ones(4))

        def forward(self, x):
            self.calls += 1
            h = self.norm(x + self.body(x) * self.scale)
            return self.head(F.dropout(h, 0.2) if self.training else h)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRU(4, 3, batch_first=True), nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.cell(x.unsqueeze(1).expand(-1, 2, -1))[0][:, -1])

    class Scaled(nn.Module):
        """Has a number and a tensor as plain attributes, which programs change."""

        def __init__(self):
            super().__init__()
            self.body, self.norm, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)
            self.factor, self.shift = 0.5, torch.zeros(())

        def forward(self, x):
            return self.head(self.norm(torch.tanh(self.body(x))) * self.factor + self.shift)

    class Counting(nn.Module):
        """Has a number and a buffer that each call changes and that decide what it computes."""

        def __init__(self):
            super().__init__()
            self.calls, self.one, self.two = 0, nn.Linear(4, 2), nn.Linear(4, 2)
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            self.calls += 1
            y = (self.one if self.calls % 2 else self.two)(x)
            with torch.no_grad():
                self.mean.lerp_(y.mean(0), 0.1)
            return y - self.mean / self.calls

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class Mapped(torch.autograd.Function):
        """A function that the transforms take: vmap makes its rules, and what it was given is saved."""

        generate_vmap_rule = True

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

    class Reversed(Mapped):
        """Has a gradient of another sign."""

        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return -0.5 * g

    class Straight(Mapped):
        """Rounds, and hands the gradient through."""

        @staticmethod
        def forward(x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0].abs() < 1)

    class Tangent(Mapped):
        """Has a tangent that is not its derivative."""

        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos() * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0].cos() * 3

    class Pair(Mapped):
        """Has two inputs and two results, of which programs use one."""

        @staticmethod
        def forward(x, y):
            return x * y, x - y

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y + h, g * x - h if ctx.needs_input_grad[1] else None

    class Cubed(torch.autograd.Function):
        """Has a rule of its own for vmap, and a gradient that can be differentiated."""

        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g, _):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

        @staticmethod
        def vmap(info, in_dims, x):
            return Cubed.forward(x), (in_dims[0], in_dims[0])

    class Wrapped(nn.Module):
        """A function with a parameter and a buffer that counts calls."""

        def __init__(self, function):
            super().__init__()
            self.function, self.scale = function, nn.Parameter(torch.full((4,), 0.5))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return self.function(x * self.scale) + self.scale * F.dropout(x, 0.0)

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError

    def backward_alone(tensor):
        """Returns the gradient of a leaf that nobody else uses."""
        leaf = tensor.detach().clone().requires_grad_()
        (leaf.tanh() * leaf).sum().backward()
        return leaf.grad

    def reorder(module):
        """Moves a weight behind the other parameters."""
        weight = module.weight
        del module.weight
        module.weight = weight

    return {
        **{kind.__name__: kind for kind in (Tied, Own, Recurrent, Scaled, Counting, Twice, Broken)},
        **{kind.__name__: kind for kind in (Reversed, Straight, Cubed, Tangent, Pair, Wrapped)},
        "backward_alone": backward_alone,
        "reorder": reorder,
        "first": lambda model: next(model.children()),
        "last": lambda model: [*model.children()][-1],
        "worker": concurrent.futures.ThreadPoolExecutor(1),
    }
