"""Runs random programs with PyTorch and with torchlike, and compares what they write: `python -m tests.fuzz --help`.

A seed always gives the same program: setup lines, then items that run in order in each round of a loop. If an item raises, the program
writes down the exception and goes on. `out(...)` reads values at once; `late(...)` keeps tensors and reads them after the last round.

The tables of lines are in `tensors`, `gradients`, `training`, `modules` and `threads`; `programs` draws from them, `running` runs a
program, `comparing` compares two runs, `shrinking` makes a program that differs smaller, `explained` lists the differences that are
allowed, with their reasons, and `found` the programs that once differed.
"""
