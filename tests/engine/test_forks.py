"""A process that forks while XLA runs: its child computes by NumPy alone, reads what was there, and names what it cannot do."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.recorded, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")]

START = """
import faulthandler, multiprocessing, os, signal, sys, threading, time, warnings
import numpy as np
import torchlike as torch
from torchlike import engine

warnings.simplefilter("error")

def in_a_fork(work):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            said = repr(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        print(file.read() or "it waited for ever")
    os.waitpid(child, 0)

def start_xla():
    return torch.zeros(3).jax.block_until_ready()
"""


def said_by(program):
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr
    return done.stdout.splitlines()


def test_a_child_reads_and_computes_and_the_parent_goes_on():
    program = """
in_a_fork(lambda: (torch.ones(3) + 1).tolist())  # XLA has not started
x = torch.ones(3) + 1
y = torch.from_jax(start_xla()) + 0
z = torch.from_jax(start_xla())
pending, layer = x * 2, torch.nn.Linear(3, 1)
in_a_fork(lambda: x.tolist())
in_a_fork(lambda: (z + 1).tolist() + z.numpy().tolist())
in_a_fork(lambda: pending.tolist())
in_a_fork(lambda: (x @ torch.eye(3)).add_(pending).tolist())
def train():
    layer(x).sum().backward()
    return layer.weight.grad.tolist()
in_a_fork(train)
print(pending.tolist(), layer.weight.grad)
"""
    assert said_by(program) == [
        "[2.0, 2.0, 2.0]",
        "[2.0, 2.0, 2.0]",
        "[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]",
        "[4.0, 4.0, 4.0]",
        "[6.0, 6.0, 6.0]",
        "[[2.0, 2.0, 2.0]]",
        "[4.0, 4.0, 4.0] None",
    ]


def test_a_step_that_is_a_program_in_the_parent_goes_on_in_the_child():
    program = """
torch.manual_seed(0)
model, x = torch.nn.Linear(8, 8), torch.randn(16, 8)
optimizer = torch.optim.Adam(model.parameters(), 0.1)
def step():
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss
with engine.compiling("now"):
    for _ in range(4):
        loss = step()
    loss.item()
assert torch.explain().compiles > 0
loss = step()
in_a_fork(lambda: [round(loss.item(), 4), *(round(step().item(), 4) for _ in range(3))])
print([round(loss.item(), 4), *(round(step().item(), 4) for _ in range(3))])
"""
    child, parent = said_by(program)
    assert child == parent


def test_what_needs_xla_says_so_by_name():
    program = """
start_xla()
x = torch.ones(3)
in_a_fork(lambda: x.jax)
kernel = engine.Kernel("mine", lambda x: (x,), [engine.Value.on_host(np.ones(2)).aval], engine.aval.CPU)
in_a_fork(kernel.executable)
"""
    array, kernel = said_by(program)
    assert array.startswith("RuntimeError: a JAX array needs XLA, which cannot run in a process that was forked")
    assert kernel.startswith("RuntimeError: mine needs XLA, which cannot run in a process that was forked")


def test_threads_and_forks_in_a_child():
    program = """
start_xla()
x = torch.ones(2)
def in_a_thread():
    said = []
    thread = threading.Thread(target=lambda: said.append((x * 3).tolist()))
    thread.start()
    thread.join()
    return said
in_a_fork(in_a_thread)
in_a_fork(lambda: in_a_fork(lambda: (x * 7).tolist()))
child = os.fork()
if child == 0:
    print((x * 2).tolist())
    sys.exit(0)  # as a program ends: XLA's own end would wait for its threads
print(os.waitpid(child, 0)[1])
"""
    assert said_by(program) == ["[[3.0, 3.0]]", "[7.0, 7.0]", "None", "[2.0, 2.0]", "0"]


def test_forks_while_other_threads_compile_and_draw_and_run():
    program = """
start_xla()
ended = threading.Event()
def compile_ever_more(size):
    while not ended.is_set():
        size += 2
        with engine.compiling("now"):
            x = torch.ones(size)
            for _ in range(3):
                (x * 2 + torch.rand(size)).sum().item()
threads = [threading.Thread(target=compile_ever_more, args=(size,)) for size in (10, 11)]
for thread in threads:
    thread.start()
failed = 0
for size in range(1000, 1010):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        ok = (torch.ones(size) * 2 + torch.rand(size)).sum().item() > 0
        os._exit(0 if ok else 1)
    failed += os.waitpid(child, 0)[1] != 0
ended.set()
for thread in threads:
    thread.join()
print(failed)
"""
    assert said_by(program) == ["0"]


def test_what_another_thread_has_recorded():
    program = """
torch.from_jax(start_xla()).tolist()
found = []
def record():
    with engine.compiling("now"):
        for _ in range(3):
            x = torch.ones(3) * 2 + 1
            engine.boundary()
            x.tolist()
    found.append(torch.ones(3) * 2 + 1)
    recorded.set()
    ended.wait()
recorded, ended = threading.Event(), threading.Event()
threading.Thread(target=record).start()
recorded.wait()
in_a_fork(lambda: found[0].tolist())
print(found[0].tolist())
ended.set()
"""
    assert said_by(program) == ["[3.0, 3.0, 3.0]"] * 2


def test_multiprocessing_forks():
    program = """
start_xla()
context, x = multiprocessing.get_context("fork"), torch.arange(4.0)
def work(number):
    return (x * number).sum().item()  # a closure: nothing is pickled
def serve(connection):
    connection.send(work(connection.recv()))
here, there = context.Pipe()
process = context.Process(target=serve, args=(there,))
process.start()
here.send(3)
print(here.recv(), work(2))
process.join()
with context.Pool(2) as pool:
    print(pool.map(work, range(4)), process.exitcode)
"""
    assert said_by(program) == ["18.0 12.0", "[0.0, 6.0, 12.0, 18.0] 0"]


def test_the_modes_of_compilation_change_nothing_in_a_child():
    program = """
start_xla()
def work():
    with engine.compiling("now"), torch.op_by_op():
        return (torch.ones(3) * 2).tolist(), torch.explain().compiles
in_a_fork(work)
"""
    assert said_by(program) == ["([2.0, 2.0, 2.0], 0)"]
