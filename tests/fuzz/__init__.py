"""Random programs, run alike by PyTorch and by torchlike: `python -m tests.fuzz --help`.

A seed gives one program, always the same: setup lines, then items that run in order in each round of a loop, each item in a
guard that writes down what it raises and goes on. `out(...)` reads values at once; `late(...)` keeps tensors and reads them after
the last round.

The tables of lines are in `tensors`, `gradients`, `training`, `modules` and `threads`; `programs` draws from them, `running` runs a
program, `comparing` tells whether two runs wrote the same, `shrinking` makes a program small that differs, `explained` lists what
may differ and why, `found` what has once differed.
"""
