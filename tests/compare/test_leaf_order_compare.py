"""The order of backward passes over random graphs, with hooks of which some raise, compared with PyTorch's."""

import random

import pytest

import torchlike

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


def functions(module, log):
    """Functions that record that they run; one returns no gradient, the other raises."""

    def backward_of(name, given):
        def backward(ctx, g):
            log.append(name)
            return given(g)

        return backward

    def made(name, given):
        body = {"forward": staticmethod(lambda ctx, x: x * 1), "backward": staticmethod(backward_of(name, given))}
        return type(name, (module.autograd.Function,), body).apply

    def fail(g):
        raise ValueError("no derivative")

    return [made("same", lambda g: g * 2), made("nothing", lambda g: None), made("raises", fail)]


def graph(module, rng, log):
    """Returns leaves, and the tensors that a random program computes from them."""
    same, nothing, raises = functions(module, log)
    leaves = [module.tensor(1.0 + n, requires_grad=True) for n in range(rng.randrange(3, 7))]
    made = list(leaves)
    for _ in range(rng.randrange(3, 14)):
        kind, pick = rng.random(), lambda: rng.choice(made if rng.random() < 0.6 else made[-3:])
        if kind < 0.25:  # multiplied, so that PyTorch does not share one number among all gradients
            new = (module.stack([pick() for _ in range(rng.randrange(2, 6))]) * 1.5).sum()
        elif kind < 0.8:
            new = rng.choice([lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b * 0.5])(pick(), pick())
        elif kind < 0.88:
            new = pick().exp().clamp(0.1, 2.0)
        elif kind < 0.94:
            new = same(pick())
        else:
            new = (nothing if rng.random() < 0.7 else raises)(pick())
        made.append(new)
    return leaves, made


def told(gradient):
    return None if gradient is None else f"{gradient.item():.3f}"


def attach(rng, log, leaves, made):
    def hook(name, fails):
        def told_hook(g):
            log.append((name, told(g), [told(each.grad) for each in leaves]))
            if fails:
                raise KeyError(name)

        return told_hook

    for number, tensor in enumerate(made):
        if rng.random() < 0.5:
            tensor.register_hook(hook(f"t{number}", rng.random() < 0.05))
        if number < len(leaves) and rng.random() < 0.2:
            accumulated = hook(f"p{number}", rng.random() < 0.05)
            tensor.register_post_accumulate_grad_hook(lambda p, told_hook=accumulated: told_hook(p.grad))
        if number >= len(leaves) and rng.random() < 0.1:
            tensor.retain_grad()


def outcome(module, seed):
    """Returns the calls of a few passes over a graph, and the gradients afterwards."""
    rng, log = random.Random(seed), []
    leaves, made = graph(module, rng, log)
    attach(rng, log, leaves, made)
    for _ in range(2):
        roots = [made[-1], *rng.sample(made, rng.choice([0, 0, 1, 3]))]
        keep, kind = rng.random() < 0.7, rng.random()
        inputs = rng.sample(made, 2)
        seeds = [module.tensor(1.0) for _ in roots]
        try:
            if kind < 0.7:
                module.autograd.backward(roots, seeds, retain_graph=keep)
            elif kind < 0.85:
                found = module.autograd.grad(roots, inputs, seeds, retain_graph=keep, allow_unused=True)
                log.append([told(g) for g in found])
            else:
                module.autograd.backward(roots, seeds, retain_graph=keep, inputs=inputs)
        except (KeyError, ValueError, RuntimeError) as error:
            log.append((type(error).__name__, str(error)[:60]))
        log.append([told(each.grad) for each in made if each.is_leaf or each.retains_grad])
    return log


@pytest.mark.parametrize("chunk", range(6))
def test_passes_over_random_graphs(chunk):
    for seed in range(100 * chunk, 100 * chunk + 100):
        assert (seed, outcome(torchlike, seed)) == (seed, outcome(torch, seed))
