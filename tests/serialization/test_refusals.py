"""Files that are damaged, or contain more than weights need, raise a clear error, and none of their code runs."""

import collections
import io
import os
import pickle
import re
import zipfile

import pytest
from hypothesis import given, settings, strategies as st

import torchlike as torch

pytestmark = pytest.mark.recorded

HEAD = b"\x80\x02"


def named(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def text(word):
    return b"X" + len(word).to_bytes(4, "little") + word.encode()


def archive(pickled, **records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, data in {"data.pkl": pickled, "version": b"3\n", "byteorder": b"little", **records}.items():
            made.writestr(f"archive/{name}", data)
    file.seek(0)
    return file


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


PROMISE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only "
    "if you got the file from a trusted source."
)
END = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


class Own:
    """A class that a file may use only if it is allowed."""


class Runs:
    """Is pickled as a call, as attackers do."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def not_allowed(name):
    return (
        "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
        f"trust the source of the checkpoint\033[0m. \n\t(1) {PROMISE}\n\t(2) Alternatively, to load with `weights_only=True` please "
        "check the recommended steps in the following error message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL "
        f"{name} was not an allowed global by default. Please use `torch.serialization.add_safe_globals([{name}])` or the "
        f"`torch.serialization.safe_globals([{name}])` context manager to allowlist this global if you trust this class/function.{END}"
    )


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Own(), f"{__name__}.Own"),
        (collections.deque(), "collections.deque"),
        (torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
        (Runs(eval, "1"), "eval"),
        (range(3), "range"),
        (Runs(getattr, 1, "real"), "getattr"),
    ],
)
def test_a_name_that_is_not_allowed(value, name, legacy):
    file = io.BytesIO(saved(value, _use_new_zipfile_serialization=not legacy))
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(file)
    assert str(caught.value) == not_allowed(name)


def test_a_name_of_a_module_that_is_blocked():
    module = os.system.__module__
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(io.BytesIO(saved(Runs(os.system, "exit 3"))))
    assert str(caught.value) == (
        f"Weights only load failed. {PROMISE}\n\n\nTrying to load unsupported GLOBAL {module}.system whose module {module} is blocked.{END}"
    )


@pytest.mark.parametrize(
    ("pickled", "why"),
    [
        (b"(ios\nsystem\n.", "Unsupported operand 105"),
        (b"\x82\x01.", "Unsupported operand 130"),
        (text("os") + text("system") + b"\x93.", "Unsupported operand 147"),
        (b"\x95\x00\x00\x00\x00\x00\x00\x00\x00.", "Unsupported operand 149"),
        (b"K\x01)R.", "Trying to call reduce for unrecognized function 1"),
        (text("foo") + b")R.", "Trying to call reduce for unrecognized function foo"),
        (b"K\x01)\x81.", "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got 1"),
        (b"K\x01}b.", "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got <class 'int'>"),
        (
            named("collections", "OrderedDict") + b"}b.",
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got <class 'type'>",
        ),
        (b"}K\x01a.", "Can only append to lists, but got <class 'dict'>"),
        (b"}(K\x01e.", "Can only extend lists, but got <class 'dict'>"),
        (b"]K\x01K\x02s.", "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>"),
        (b"](K\x01K\x02u.", "Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>"),
        (b"K\x01Q.", "saved_id must be a tuple, got int"),
        (text("foo") + b"K\x01\x86Q.", "Only persistent_load of storage is allowed, but got <class 'str'>"),
        # For these PyTorch raises a bare IndexError, KeyError or TypeError.
        (b".", "the pickle makes no sense (IndexError: pop from empty list): the file might be corrupted"),
        (b"h\x09.", "the pickle makes no sense (KeyError: 9): the file might be corrupted"),
        (b"}]K\x01s.", "the pickle makes no sense (TypeError: unhashable type: 'list'): the file might be corrupted"),
        (
            named("torch", "float32") + b")R.",
            "the pickle makes no sense (TypeError: 'dtype' object is not callable): the file might be corrupted",
        ),
        (
            named("builtins", "bytearray") + b"J\xff\xff\xff\x7f\x85R.",
            "the pickle makes no sense (ValueError: a bytearray in the file is not made of bytes): the file might be corrupted",
        ),
        (
            named("_codecs", "encode") + text("abc") + text("rot13") + b"\x86R.",
            "the pickle makes no sense (ValueError: bytes in the file are written by the codec 'rot13', which is not allowed): the file "
            "might be corrupted",
        ),
    ],
)  # fmt: skip
def test_what_a_pickle_may_not_do(pickled, why):
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(archive(HEAD + pickled))
    assert str(caught.value) == (
        f"Weights only load failed. {PROMISE}\nPlease file an issue with the following so that we can make `weights_only=True` "
        f"compatible with your use case: WeightsUnpickler error: \n\n{why}{END}"
    )


def tensor(size, stride, *, kind="FloatStorage", count=4, offset=0, key="0", more=b""):
    numbers = [
        b"(" + b"".join(b"J" + n.to_bytes(4, "little", signed=True) for n in each) + b"t" for each in (size, stride)
    ]
    storage = b"(" + text("storage") + named("torch", kind) + text(key) + text("cpu") + b"K" + bytes([count]) + b"tQ"
    return (
        HEAD + named("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + b"K" + bytes([offset]) + numbers[0] + numbers[1]
        + b"\x89" + named("collections", "OrderedDict") + b")R" + more + b"tR."
    )  # fmt: skip


FOUR = {"data/0": bytes(16)}


@pytest.mark.parametrize(
    ("pickled", "records", "message"),
    [
        (tensor([5], [1]), FOUR, "setStorage: sizes [5], strides [1], storage offset 0, and itemsize 4 requiring a storage size of 20 are "
         "out of bounds for storage of size 16"),
        (tensor([2, 2], [3, 1], offset=1), FOUR, "setStorage: sizes [2, 2], strides [3, 1], storage offset 1, and itemsize 4 requiring a "
         "storage size of 24 are out of bounds for storage of size 16"),
        (tensor([-1], [1]), FOUR, "a tensor in the file has size (-1,), stride (1,), storage offset 0: the file might be corrupted"),
        (tensor([2], [-1], offset=3), FOUR, "a tensor in the file has size (2,), stride (-1,), storage offset 3: the file might"),
        (tensor([2], [1, 1]), FOUR, "a tensor in the file has size (2,), stride (1, 1), storage offset 0: the file might be corrupted"),
        (tensor([4], [1], count=5), FOUR, "PytorchStreamReader failed reading file data/0: a storage of 20 bytes has 16"),
        (tensor([4], [1], key="1"), FOUR, "PytorchStreamReader failed locating file data/1: file not found"),
        (tensor([4], [1], key="../../../etc/passwd"), FOUR, "PytorchStreamReader failed locating file data/../../../etc/passwd"),
        (tensor([4], [1], more=b"}" + text("zero") + b"\x88s"), FOUR, "torchlike does not know what is said of a tensor in the file: "),
        (tensor([4], [1]), {**FOUR, "constants.pkl": b""}, "Cannot use ``weights_only=True`` with TorchScript archives"),
    ],
)  # fmt: skip
def test_tensors_that_cannot_be(pickled, records, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        torch.load(archive(pickled, **records))


def test_a_storage_by_itself():
    storage = b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + text("cpu") + b"K\x04tQ"
    loaded = torch.load(archive(HEAD + storage + b".", **FOUR))
    assert isinstance(loaded, torch.TypedStorage) and loaded.dtype is torch.float32 and len(loaded) == 4
    (within,) = torch.load(archive(HEAD + b"}" + text("a") + b"]" + storage + b"as.", **FOUR))["a"]
    assert within.tolist() == loaded.tolist()


def test_a_kind_of_storage_that_is_none():
    with pytest.raises(
        pickle.UnpicklingError, match="QUInt4x2Storage is not the class of a storage that torchlike knows"
    ):
        torch.load(archive(tensor([4], [1], kind="QUInt4x2Storage"), **FOUR))


def test_a_view_over_little_memory_may_be_large_but_not_without_bounds():
    loaded = torch.load(archive(tensor([2**10, 2**10, 2], [0, 0, 1]), **FOUR))
    assert loaded.shape == (2**10, 2**10, 2)
    assert loaded.stride() == (0, 0, 1)
    message = r"a tensor in the file sees 16 bytes as size \[1073741824, 1073741824, 2\], more than any memory can hold"
    with pytest.raises(RuntimeError, match=message):
        torch.load(archive(tensor([2**30, 2**30, 2], [0, 0, 1]), **FOUR))


def test_an_attribute_cannot_replace_what_a_tensor_is():
    plain = tensor([4], [1])[2:-2]  # function and arguments, without the call
    function, arguments = plain.split(b"(", 1)
    for name in ("_storage", "tolist", "__class__"):
        state = b"}" + text(name) + b"K\x01s"
        evil = (
            HEAD + named("torch._tensor", "_rebuild_from_type_v2") + b"(" + function + named("torch", "Tensor") + b"(" + arguments
            + state + b"tR."
        )  # fmt: skip
        with pytest.raises(
            RuntimeError, match=f"a tensor in the file has an attribute '{name}', which is not for files to set"
        ):
            torch.load(archive(evil, **FOUR))


ran = []


def run(*arguments):
    ran.append(arguments)
    return arguments


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_nothing_is_run_until_it_is_allowed(options):
    data = saved({"weights": torch.ones(2), "more": Runs(run, 1)}, **options)
    ran.clear()
    with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL {__name__}.run was not an allowed global"):
        torch.load(io.BytesIO(data))
    assert ran == []
    with torch.serialization.safe_globals([run]):
        assert torch.load(io.BytesIO(data))["more"] == (1,)
    torch.load(io.BytesIO(data), weights_only=False)
    assert len(ran) == 2  # once for each load that allows it: inspecting a legacy file runs nothing


def test_what_is_allowed_is_kept_in_order_and_taken_back():
    s = torch.serialization
    s.add_safe_globals([Own, (Own, "old.name.Own")])
    s.add_safe_globals([Own])
    assert s.get_safe_globals() == [Own, (Own, "old.name.Own")]
    with s.safe_globals([collections.deque]):
        assert s.get_safe_globals()[-1] is collections.deque
    assert collections.deque not in s.get_safe_globals()
    renamed = HEAD + named("old.name", "Own") + b")\x81}" + text("x") + b"K\x05sb."
    assert torch.load(archive(renamed)).x == 5
    s.clear_safe_globals()
    assert s.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError):
        torch.load(archive(renamed))


def test_the_state_of_an_allowed_class_is_set_its_own_way():
    class Slots:
        __slots__ = ("a",)

    class Sets:
        def __setstate__(self, state):
            self.got = state

    with torch.serialization.safe_globals([(Slots, "m.Slots"), (Sets, "m.Sets")]):
        slots = torch.load(archive(HEAD + named("m", "Slots") + b")\x81N}" + text("a") + b"K\x05s\x86b."))
        sets = torch.load(archive(HEAD + named("m", "Sets") + b")\x81}" + text("a") + b"K\x05sb."))
    assert slots.a == 5
    assert sets.got == {"a": 5}


def test_which_names_are_not_allowed_can_be_asked():
    file = io.BytesIO(saved([Own(), Runs(run), torch.ones(2), Own()]))
    ask = torch.serialization.get_unsafe_globals_in_checkpoint
    assert ask(file) == [f"{__name__}.Own", f"{__name__}.run"]
    file.seek(0)
    with torch.serialization.safe_globals([Own]):
        assert ask(file) == [f"{__name__}.run"]
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        ask(io.BytesIO(b"no archive"))


# ---- damage

ADVICE = (
    "If you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the "
    "checkpoint was not saved properly, was transferred incorrectly, or the file was modified after saving."
)


@pytest.mark.parametrize("count", [4, 10, 100, 1000, -30, -1])
def test_an_archive_that_is_cut_off(tmp_path, count):
    path = tmp_path / "x.pt"
    path.write_bytes(saved(torch.arange(1000.0))[:count])
    for options in ({}, {"mmap": True}, {"weights_only": False}):
        with pytest.raises(RuntimeError) as caught:
            torch.load(path, **options)
        why = "not a ZIP archive" if count in (4, 10) else "failed finding central directory"
        why = f"{why}. This is an internal miniz error"
        assert str(caught.value) == f"PytorchStreamReader failed reading zip archive: {why}. {ADVICE}"


@pytest.mark.parametrize(
    ("count", "error", "message"),
    [
        (100, EOFError, "Ran out of input: the file ends in the middle of a pickle and might be corrupted"),
        (1000, RuntimeError, r"unexpected EOF, expected \d+ more bytes. The file might be corrupted."),
        (-1, RuntimeError, "unexpected EOF, expected 1 more bytes. The file might be corrupted."),
    ],
)
@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["weights only", "anything"])
def test_a_legacy_file_that_is_cut_off(count, error, message, options):
    data = saved(torch.arange(1000.0), _use_new_zipfile_serialization=False)
    with pytest.raises(error, match=f"^{message}$"):
        torch.load(io.BytesIO(data[:count]), **options)


@pytest.mark.parametrize(
    ("count", "safe", "error", "message"),
    [
        (0, True, EOFError, ""),
        (0, False, EOFError, "Ran out of input"),
        (1, True, EOFError, "Ran out of input: the file ends in the middle of a pickle and might be corrupted"),
        (1, False, pickle.UnpicklingError, "pickle data was truncated"),
    ],
)
def test_a_legacy_file_that_has_hardly_begun(count, safe, error, message):
    data = saved(torch.arange(1000.0), _use_new_zipfile_serialization=False)
    with pytest.raises(error, match=f"^{message}$"):
        torch.load(io.BytesIO(data[:count]), weights_only=safe)


@pytest.mark.parametrize("data", [pickle.dumps({"a": 1}, 2), pickle.dumps(5, 2)])
def test_a_pickle_of_something_else(data):
    with pytest.raises(RuntimeError, match=r"^Invalid magic number; corrupt file\?$"):
        torch.load(io.BytesIO(data))


def test_an_archive_that_is_no_checkpoint():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("x.txt", "hello")
    with pytest.raises(RuntimeError, match=r"^file in archive is not in a subdirectory: x\.txt$"):
        torch.load(file if not file.seek(0) else None)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            b"99\n",
            r"^Attempted to read a PyTorch file with version 99, but the maximum supported version for reading is 10\.$",
        ),
        (b"x", r"^PytorchStreamReader failed reading its version: b'x' is none\."),
    ],
)
def test_a_format_that_is_too_new(version, message):
    with pytest.raises(RuntimeError, match=message):
        torch.load(archive(tensor([4], [1]), version=version, **FOUR))


def test_a_byte_that_has_changed_is_noticed():
    data = bytearray(saved(torch.arange(1000.0)))
    data[data.find(b"\x00\x00\x80?") + 50] ^= 255
    with pytest.raises(RuntimeError, match="failed reading file data/0: Bad CRC-32 for file 'archive/data/0'"):
        torch.load(io.BytesIO(bytes(data)))


def test_files_without_checksums_are_read():
    data = saved(torch.ones(3))
    with zipfile.ZipFile(io.BytesIO(data)) as archive_:
        sums = {i.CRC for i in archive_.infolist()}
    for each in sums:
        data = data.replace(each.to_bytes(4, "little"), bytes(4))
    assert torch.load(io.BytesIO(data)).tolist() == [1, 1, 1]


def test_compressed_records_are_refused_before_they_are_unpacked():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", bytes(10**7))
    file.seek(0)
    with pytest.raises(
        RuntimeError, match=r"data\.pkl is compressed in the archive: torchlike reads uncompressed records"
    ):
        torch.load(file)


def test_a_file_of_the_other_byte_order_is_turned_round():
    import numpy as np

    pickled = tensor([4], [1])
    loaded = torch.load(archive(pickled, byteorder=b"big", **{"data/0": np.array([1, 2, 3, 4.5], ">f4").tobytes()}))
    assert loaded.tolist() == [1, 2, 3, 4.5]
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        torch.load(archive(pickled, byteorder=b"middle", **FOUR))


WHOLE = saved({"a": torch.arange(3.0), "b": [torch.ones(2, 2).t(), 1.5, "x"], "c": torch.nn.Parameter(torch.ones(1))})
OLD = saved({"a": torch.arange(3.0), "b": [torch.ones(2, 2).t(), 1.5, "x"]}, _use_new_zipfile_serialization=False)
PICKLED = zipfile.ZipFile(io.BytesIO(WHOLE)).read("archive/data.pkl")
KNOWN = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, TypeError)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_changed_there_is_an_error_of_ours_or_a_result(data):
    which = data.draw(st.sampled_from(["archive", "legacy", "pickle"]))
    raw = bytearray({"archive": WHOLE, "legacy": OLD, "pickle": PICKLED}[which])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    records = {f"data/{i}": bytes(n) for i, n in enumerate((12, 16, 4))}
    file = archive(bytes(raw), **records) if which == "pickle" else io.BytesIO(bytes(raw))
    try:
        torch.load(file)
    except KNOWN as error:
        message = str(error)
    else:
        message = "a result"
    assert message


@pytest.mark.parametrize(
    ("content", "safe", "unsafe"),
    [
        (b"garbage", "Unsupported operand 103", "pickle data was truncated"),
        (b"\x00" * 100, "Unsupported operand 0", "invalid load key, '\\x00'"),
        (b"<html>404</html>", "Unsupported operand 60", "invalid load key, '<'"),
        (pickle.dumps({"a": 1}), "Unsupported operand 149", None),
    ],
)
def test_what_is_no_checkpoint(content, safe, unsafe):
    with pytest.raises(pickle.UnpicklingError, match=safe):
        torch.load(io.BytesIO(content))
    error, words = (pickle.UnpicklingError, unsafe) if unsafe else (RuntimeError, "Invalid magic number; corrupt file?")
    with pytest.raises(error, match=re.escape(words)):
        torch.load(io.BytesIO(content), weights_only=False)


def test_what_is_no_archive():
    with pytest.raises(RuntimeError, match="not a ZIP archive. This is an internal miniz error. If you are seeing"):
        torch.load(io.BytesIO(b"PK\x03\x04xxx"))
    with pytest.raises(RuntimeError, match="failed finding central directory. This is an internal miniz error."):
        torch.load(io.BytesIO(b"PK\x03\x04" + bytes(100)))
    with pytest.raises(EOFError, match="Ran out of input"):
        torch.load(io.BytesIO(), weights_only=False)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_are_saved_and_share_their_memory():
    x = torch.arange(4.0)
    file = io.BytesIO()
    torch.save({"x": x, "typed": x.storage(), "other": torch.FloatStorage([5.0, 6.0])}, file)
    loaded = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    loaded["typed"][1] = 9.0
    assert loaded["x"].tolist() == [0, 9, 2, 3] and loaded["other"].tolist() == [5, 6]
    torch.save(x.untyped_storage(), file := io.BytesIO())
    found = torch.load(io.BytesIO(file.getvalue()))
    assert type(found).__name__ == "TypedStorage" and found.dtype is torch.uint8 and found.nbytes() == 16
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([x, x.untyped_storage()], io.BytesIO())
