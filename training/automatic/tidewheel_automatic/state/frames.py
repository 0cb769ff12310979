"""What a frame of Python holds beside its variables: the iterators of its loops, and more.

CPython has no function that shows this part of a frame, so it is read out of memory. A word counts
only if a live object lies there, and its place only as far as the bytecode says that it is in use.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import gc
import sys
import types
from typing import Any

_WORD = ctypes.sizeof(ctypes.c_void_p)
_TAGS = 7
"""Python 3.14 marks references in the bits that an address does not need."""
_NO_WAY_ON = ("RETURN_V", "RETURN_C", "RAISE", "RERAISE", "JUMP_F", "JUMP_A", "JUMP_B")


def holders() -> dict[int, Any]:
    """The live objects that a loop or a `with` may hold, by their address."""
    values = gc.get_objects()
    kinds = {type(value) for value in values}
    found = {kind for kind in kinds if kind is types.MethodType or hasattr(kind, "__next__")}
    return {id(value): value for value in values if type(value) in found}


def on_stack(frame: types.FrameType, live: dict[int, Any]) -> dict[int, Any]:
    """Those of `live` that the frame holds beside its variables, by their place."""
    depth = _depths(frame.f_code)[0].get(frame.f_lasti, 0)
    start = _stack_of(frame) if depth else None
    if start is None:
        return {}
    words = (_at(start + _WORD * place) & ~_TAGS for place in range(depth))
    return {place: live[word] for place, word in enumerate(words) if word in live}


def loops(frame: types.FrameType) -> list[tuple[int, str]]:
    """Those in which the frame is, the outermost first: where each begins and its variable."""
    known = _depths(frame.f_code)[1]
    return [(start, name) for start, end, name in known if start <= frame.f_lasti < end]


@functools.cache
def _depths(code: types.CodeType) -> tuple[dict[int, int], list[tuple[int, int, str]]]:
    """How many values lie on the stack at each word of the bytecode, and its loops."""
    depths, found = {}, list[tuple[int, int, str]]()
    # An error leads into a handler, from 3.11 on by a table.
    for entry in getattr(dis, "_parse_exception_table", lambda _: ())(code):
        depths[entry.target] = entry.depth + entry.lasti + 1
    here: int | None = 0
    instructions = list(dis.get_instructions(code))
    for index, one in enumerate(instructions[:-1]):
        here = depths.get(one.offset, here)
        if here is None:
            continue
        # A frame that calls another one stands in the call's last word, before 3.13.
        depths.update(dict.fromkeys(range(one.offset, instructions[index + 1].offset, 2), here))
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            effect = dis.stack_effect(one.opcode, one.arg, jump=True)
            depths.setdefault(one.argval, here + effect)
        if one.opname == "FOR_ITER":
            names = [x.argval for x in instructions[index + 1 : index + 3] if "STORE" in x.opname]
            found.append((one.offset, one.argval, str(next(iter(names), ""))))
        here += dis.stack_effect(one.opcode, one.arg, jump=False)
        if one.opname == "GEN_START" or (one.opname, one.arg) == ("RESUME", 0):
            here = 0  # What a generator is sent at its start counts before.
        if one.opname.startswith(_NO_WAY_ON):
            here = None
    return depths, found


def _stack_of(frame: types.FrameType) -> int | None:
    """The address of the first value on its stack."""
    if sys.version_info < (3, 11):
        return _at(id(frame) + 8 * _WORD)
    code, offset = frame.f_code, _variables_offset()
    variables = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    return None if offset is None else _inner(frame) + offset + _WORD * variables


@functools.cache
def _variables_offset() -> int | None:
    """Where the variables of a frame begin; it differs between versions of Python."""
    sought = object()  # The first variable of this function.
    for offset in range(0, 16 * _WORD, _WORD):
        if _at(_inner(sys._getframe()) + offset) == id(sought):
            return offset
    return None


def _inner(frame: types.FrameType) -> int:
    """CPython's own frame, from 3.11 on."""
    return _at(id(frame) + object.__basicsize__ + _WORD)


def _at(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value
