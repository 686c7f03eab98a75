"""The adapter to tensorboardX: ``SummaryWriter``, with PyTorch's signatures, for torchlike's tensors."""

from __future__ import annotations

import io
import os
import time
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import tensorboardX
except ModuleNotFoundError as error:
    if error.name != "tensorboardX":
        raise
    raise ModuleNotFoundError(
        "No module named 'tensorboardX': torch.utils.tensorboard stands on it (pip install 'torchlike[tensorboard]')",
        name="tensorboardX",
    ) from None

from .._core.tensor import Tensor
from .._missing import explain_missing
from ._recorded_graph import GraphNode, graph_of

__all__ = ["SummaryWriter"]


def _plain(value: Any) -> Any:
    """A value with arrays in place of tensors, also in lists and dictionaries. Dtypes that NumPy lacks become float32."""
    if isinstance(value, Tensor):
        array = value._array()
        return array if array.dtype.kind in "biufc" else array.astype(np.float32)
    if isinstance(value, dict):
        return {key: _plain(element) for key, element in value.items()}
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _taking_tensors(name: str) -> Any:
    """A method of tensorboardX's writer whose arguments have the same names as PyTorch's."""
    method = getattr(tensorboardX.SummaryWriter, name)

    def call(self: SummaryWriter, *args: object, **kwargs: object) -> Any:
        return method(self, *_plain(args), **_plain(kwargs))

    call.__name__, call.__qualname__, call.__doc__ = name, f"SummaryWriter.{name}", method.__doc__
    return call


def _check_domains(settings: Mapping[str, object], domains: Mapping[str, Sequence[object]]) -> None:
    for name, values in domains.items():
        if name not in settings or not isinstance(values, (list, tuple)):
            raise TypeError(
                f"parameter: hparam_domain_discrete['{name}'] should be a list of values, and '{name}' one of the settings"
            )
        if any(type(value) is not type(settings[name]) for value in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete['{name}'] should be a list of same type as hparam_dict['{name}']"
            )


def _with_domains(experiment: Any, domains: Mapping[str, Sequence[object]]) -> Any:
    """The summary that describes an experiment, with the values that settings may have."""
    if not domains:
        return experiment
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData  # pyright: ignore[reportAttributeAccessIssue]

    data = experiment.value[0].metadata.plugin_data
    content = HParamsPluginData.FromString(data.content)
    for info in content.experiment.hparam_infos:
        info.domain_discrete.extend(domains.get(info.name, ()))
    data.content = content.SerializeToString()
    return experiment


def _scalar_summary(tag: str, number: float, double_precision: bool) -> Any:
    """A point of a curve as a tensor without dimensions."""
    from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata  # pyright: ignore[reportAttributeAccessIssue]
    from tensorboardX.proto.tensor_pb2 import TensorProto  # pyright: ignore[reportAttributeAccessIssue]

    if double_precision:
        tensor = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        tensor = TensorProto(float_val=[number], dtype="DT_FLOAT")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    return Summary(value=[Summary.Value(tag=tag, tensor=tensor, metadata=metadata)])


def _audio_summary(tag: str, sound: np.ndarray[Any, Any], sample_rate: int) -> Any:
    """A sound as a file of 16 bits, by the standard library, where tensorboardX needs a package for it."""
    from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

    if sound.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    if sound.size and np.abs(sound).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")  # noqa: T201  # as PyTorch's does
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes((sound.clip(-1, 1) * 32767).astype("<i2").tobytes())
    audio = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(sound), encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, audio=audio)])


def _refuse_container(result: object) -> None:
    if type(result) in (list, dict):
        kind, instead = ("list", "a `tuple`") if isinstance(result, list) else ("dict", "a `NamedTuple`")
        raise RuntimeError(
            f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, this is only valid if the container "
            f"structure does not change based on the module's inputs. Consider using a constant container instead (for `{kind}`, use "
            f"{instead} instead). If you absolutely need this and know the side effects, pass use_strict_trace=False to add_graph()."
        )


def _event(**content: object) -> Any:
    from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]  # made at run time

    return Event(**content)


def _graph_proto(nodes: list[GraphNode]) -> Any:
    """A graph as TensorBoard reads it."""
    from tensorboardX.proto.graph_pb2 import GraphDef  # pyright: ignore[reportAttributeAccessIssue]  # made at run time

    graph = GraphDef()
    graph.versions.producer = 22
    for node in nodes:
        entry = graph.node.add(name=node.name, op=node.op, input=node.inputs)
        for shape in node.shapes:
            sizes = entry.attr["_output_shapes"].list.shape.add()
            for size in shape:
                sizes.dim.add(size=size)
    return graph


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes an event file for TensorBoard into a folder, which may contain the files of other runs too.

    Args:
        log_dir: the folder. None creates one under ``runs``, named by the time and the host.
        comment: the end of the folder's name, if ``log_dir`` is None.
        purge_step: TensorBoard does not show events of this step and later ones that were written before a crash.
        max_queue, flush_secs: the number of events, and of seconds, after which events are written to the file.
        filename_suffix: the end of the names of event files.

    Every ``add_*`` takes tensors, alone or in lists and dictionaries. Reading them ends the recorded segment, as ``item`` does.

    >>> import tempfile
    >>> from torchlike.utils.tensorboard import SummaryWriter
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     writer.add_scalar("loss", torch.tensor(0.5), global_step=1)
    ...     writer.add_histogram("weight", torch.randn(100), global_step=1)

    Source: https://docs.pytorch.org/docs/stable/tensorboard.html, https://tensorboardx.readthedocs.io
    """

    def __init__(
        self,
        log_dir: object = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        super().__init__(
            None if log_dir is None else str(log_dir), comment, purge_step, max_queue, flush_secs, filename_suffix
        )

    @property
    def log_dir(self) -> str:
        """The folder of the event file."""
        return self.logdir

    def get_logdir(self) -> str:
        """The folder of the event file."""
        return self.logdir

    # The arguments of these methods are already PyTorch's.
    add_scalars: Any = _taking_tensors("add_scalars")
    add_histogram: Any = _taking_tensors("add_histogram")
    add_histogram_raw: Any = _taking_tensors("add_histogram_raw")
    add_image: Any = _taking_tensors("add_image")
    add_video: Any = _taking_tensors("add_video")
    add_embedding: Any = _taking_tensors("add_embedding")
    add_pr_curve: Any = _taking_tensors("add_pr_curve")
    add_pr_curve_raw: Any = _taking_tensors("add_pr_curve_raw")
    add_mesh: Any = _taking_tensors("add_mesh")

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A point of a curve.

        Args:
            new_style: write a tensor, which is read faster.
            double_precision: in float64, where a tensor is written.
        """
        if not new_style:
            super().add_scalar(tag, _plain(scalar_value), global_step, walltime)
            return
        number = float(np.asarray(_plain(scalar_value)).item())
        self._get_file_writer().add_summary(_scalar_summary(tag, number, double_precision), global_step, walltime)  # pyright: ignore[reportOptionalMemberAccess]

    def add_audio(
        self,
        tag: str,
        snd_tensor: object,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound of one channel, ``(L,)``, its samples between -1 and 1."""
        sound = np.asarray(_plain(snd_tensor)).squeeze()
        self._get_file_writer().add_summary(_audio_summary(tag, sound, sample_rate), global_step, walltime)  # pyright: ignore[reportOptionalMemberAccess]

    def add_hparams(
        self,
        hparam_dict: dict[str, object],
        metric_dict: Mapping[str, object],
        hparam_domain_discrete: Mapping[str, Sequence[object]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The settings of a run, and its results.

        Args:
            hparam_dict: numbers, texts and Booleans, by name.
            metric_dict: numbers, by the tags under which they are shown.
            hparam_domain_discrete: the possible values of some settings.
            run_name: of the run; its time by default.
        """
        domains = hparam_domain_discrete or {}
        settings = {key: value.item() if isinstance(value, Tensor) else value for key, value in hparam_dict.items()}
        if not all(isinstance(value, (bool, int, float, str)) for value in settings.values()):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        _check_domains(settings, domains)
        metrics = _plain(metric_dict)
        experiment, start, end = tensorboardX.summary.hparams(settings, metrics)  # pyright: ignore[reportAttributeAccessIssue]
        folder = os.path.join(self.logdir, run_name or str(time.time()))
        with tensorboardX.SummaryWriter(logdir=folder) as run:
            for summary in (_with_domains(experiment, domains), start, end):
                run.file_writer.add_summary(summary)  # pyright: ignore[reportOptionalMemberAccess]
            for tag, value in metrics.items():
                run.add_scalar(tag, value, global_step)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures, ``(N, C, H, W)``; or a list of pictures, with the ``dataformats`` of one."""
        pictures = _plain(img_tensor)
        if isinstance(pictures, list):  # tensorboardX would stack them with PyTorch
            pictures, dataformats = np.stack(pictures), f"N{dataformats}"
        super().add_images(tag, pictures, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Tensor,
        box_tensor: object,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: list[str] | None = None,
    ) -> None:
        """A picture with boxes drawn on it, ``(xmin, ymin, xmax, ymax)`` each."""
        super().add_image_with_boxes(
            tag, _plain(img_tensor), _plain(box_tensor), global_step, walltime, dataformats, labels, rescale=rescale
        )

    def add_graph(
        self, model: object, input_to_model: object = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Adds the graph of a module: the operations of one call, each within the modules that call it.

        Args:
            model: the module, which is called once, in evaluation mode and without gradients.
            input_to_model: its input, or a tuple or list of inputs.
            verbose: print the graph too.
            use_strict_trace: refuse a module that returns a list or a dict, as PyTorch's tracer does.

        Raises:
            RuntimeError: the module returns a list or a dict.
        """
        inputs = input_to_model if isinstance(input_to_model, (tuple, list)) else (input_to_model,)
        nodes, result = graph_of(model, tuple(inputs))
        if use_strict_trace:
            _refuse_container(result)
        graph = _graph_proto(nodes)
        if verbose:
            print(graph)  # noqa: T201
        event = _event(graph_def=graph.SerializeToString())
        self._get_file_writer().add_event(event)  # pyright: ignore[reportOptionalMemberAccess]

    def add_tensor(self, *args: object, **kwargs: object) -> None:
        """Not supported yet: tensorboardX writes no plain tensors."""
        raise NotImplementedError("torchlike does not support SummaryWriter.add_tensor yet")


explain_missing(__name__)  # imported last
