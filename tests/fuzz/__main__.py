"""Runs random programs with both libraries.

python -m tests.fuzz both --seed S --programs N      compares programs S .. S+N-1, and shrinks those that differ
python -m tests.fuzz alone --seed S --programs N     compares torchlike traced with torchlike eager, without PyTorch
python -m tests.fuzz show --seed S                   prints a program
"""

import argparse
import sys

from .comparing import first_difference, same
from .explained import OTHERS_BEFORE, ROUNDING, THREADS_IN_ORDER, WRITTEN_DATA, explanation, without_threads
from .processes import difference, rows_of, serve
from .programs import KINDS, Program, program_of
from .shrinking import shrunk


def said(found) -> str:
    number, theirs, ours = found
    return f"row {number}\n   expected  {str(theirs)[:400]}\n   torchlike {str(ours)[:400]}"


def compare(given: argparse.Namespace) -> int:
    """Compares programs in chunks that share a process; returns the number of unexplained differences."""
    unexplained, explained, done = 0, dict[str, int](), 0
    end = given.seed + given.programs
    for start in range(given.seed, end, given.chunk):
        programs = {seed: program_of(seed, given.kind) for seed in range(start, min(start + given.chunk, end))}
        texts = {seed: str(program) for seed, program in programs.items()}
        expected = rows_of(_reference(given), texts, *_for_reference(given), timeout=given.timeout)
        ours = rows_of("torchlike", texts, *_for_ours(given), timeout=given.timeout)
        for seed, program in programs.items():
            if seed not in expected or seed not in ours:
                continue  # after a program that ended the process
            done += 1
            found = first_difference(expected[seed], ours[seed])
            if found is None:
                continue
            why = explanation(texts[seed], found) or _looked_at(given, program, found)
            if why:
                explained[why] = explained.get(why, 0) + 1
                print(f"seed {seed}: {why}", flush=True)
                continue
            unexplained += 1
            print(f"#### seed {seed}\n{said(found)}", flush=True)
            if given.shrink:
                _show_small(given, program)
        print(
            f"[{done} programs, up to seed {start + given.chunk - 1}: {unexplained} unexplained; {explained or 'none explained'}]",
            flush=True,
        )
    return unexplained


def _reference(given):
    return "torch" if given.what == "both" else "torchlike"


def _for_reference(given):
    return () if given.what == "both" else ("--op-by-op", "--uninterrupted")


def _for_ours(given):
    return ("--uninterrupted",) if given.uninterrupted else ()


def _apart(given, program: Program, *more: str):
    """Returns the rows of both libraries, when each run has a process of its own."""
    text = {0: str(program)}
    theirs = rows_of(_reference(given), text, *_for_reference(given), *more)[0]
    return theirs, rows_of("torchlike", text, *_for_ours(given), *more)[0]


def _again(given, program: Program, *more: str):
    """Returns the first difference when each run has a process of its own."""
    return first_difference(*_apart(given, program, *more))


def _looked_at(given, program: Program, found) -> str | None:
    theirs, ours = _apart(given, program)
    if first_difference(theirs, ours) is None:
        number, _, ours_before = found
        if given.what == "both" and number < len(ours) and same(ours[number], ours_before):
            return OTHERS_BEFORE  # so it is PyTorch's row that is another one in a process of its own
        print("   differs only after the programs before it:", flush=True)
        return None
    if not _again(given, program, "--double"):
        return ROUNDING
    if given.what == "both" and ".data" in str(program):
        text = {0: str(program)}
        theirs = rows_of("torch", text, "--double", "--copies")
        if first_difference(theirs[0], rows_of("torchlike", text, *_for_ours(given), "--double")[0]) is None:
            return WRITTEN_DATA
    if given.what == "both" and without_threads(str(program)) != str(program):
        alone = {0: without_threads(str(program))}
        theirs, ours = (rows_of(library, alone, *_for_ours(given), "--double")[0] for library in ("torch", "torchlike"))
        threaded = rows_of("torchlike", {0: str(program)}, *_for_ours(given), "--double")[0]
        if first_difference(theirs, ours) is None and first_difference(ours, threaded) is None:
            return THREADS_IN_ORDER
    return None


def _show_small(given, program: Program) -> None:
    small = shrunk(program, lambda candidate: _unexplained(given, candidate), given.most)
    found = _again(given, small, "--words")
    modes = (
        "in eager mode as well"
        if given.what == "both" and difference(str(small), "--op-by-op", *_for_ours(given))
        else "in traced mode only"
    )
    print(f"-- differs {modes}\n{small}{said(found) if found else 'which differs no more'}\n", flush=True)


def _unexplained(given, program: Program) -> bool:
    found = _again(given, program)
    return found is not None and explanation(str(program), found) is None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["both", "alone", "show", "serve"])
    parser.add_argument(
        "module", nargs="?", choices=["torch", "torchlike"], help="for serve: programs come on the standard input"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--kind", choices=[*KINDS])
    parser.add_argument("--chunk", type=int, default=20, help="so many programs share a process")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a chunk")
    parser.add_argument("--most", type=int, default=60, help="runs that shrinking may take")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    for option in ("--double", "--op-by-op", "--words", "--uninterrupted", "--copies"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_args()
    if given.what == "show":
        print(program_of(given.seed, given.kind))
    elif given.what == "serve":
        serve(given.module, given.double, given.op_by_op, given.words, given.uninterrupted, given.copies)
    else:
        sys.exit(compare(given) > 0)
