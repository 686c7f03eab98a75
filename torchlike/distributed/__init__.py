"""torch.distributed for a world of one process: programs written for several run as they are; more processes are refused by name."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .distributed_c10d import (
    GroupMember as GroupMember,
    ProcessGroup as ProcessGroup,
    ReduceOp as ReduceOp,
    Work as Work,
    all_gather as all_gather,
    all_gather_into_tensor as all_gather_into_tensor,
    all_gather_object as all_gather_object,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    barrier as barrier,
    broadcast as broadcast,
    broadcast_object_list as broadcast_object_list,
    destroy_process_group as destroy_process_group,
    gather as gather,
    get_backend as get_backend,
    get_rank as get_rank,
    get_world_size as get_world_size,
    group as group,
    init_process_group as init_process_group,
    is_available as is_available,
    is_gloo_available as is_gloo_available,
    is_initialized as is_initialized,
    is_mpi_available as is_mpi_available,
    is_nccl_available as is_nccl_available,
    is_torchelastic_launched as is_torchelastic_launched,
    new_group as new_group,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    scatter as scatter,
)

if not _TYPE_CHECKING:  # a type checker should still know which names there are

    def __getattr__(name):
        from .._missing import missing

        raise missing(__name__, name)
