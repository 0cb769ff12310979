"""Which arithmetic gains on which GPU. It needs no framework."""

_FLOAT16_SINCE = (7, 0)
"""Compute capability of the first tensor cores: V100. T4 has 7.5."""
_BFLOAT16_SINCE = (8, 0)
"""A100, A10G. On older ones PyTorch emulates it, more slowly than float32."""
_LEAST_OPERATIONS = 1e8
"""Operations from which on a product of matrices gains. A kernel takes some 10 microseconds to
start, in which a T4 or V100 computes as many operations in float32. It was not measured."""


def kind_for(name: str, capability: tuple[int, int] | None, operations: float) -> str:
    """`auto` made float32, bfloat16 or float16; another name stays.

    `capability`: of the oldest GPU that computes, None on CPUs. `operations`: of a mean product.
    """
    if name != "auto":
        return name
    if capability is None or capability < _FLOAT16_SINCE or operations < _LEAST_OPERATIONS:
        return "float32"
    return "bfloat16" if capability >= _BFLOAT16_SINCE else "float16"
