"""In the place of pip in the environment of a host: `python -m pip` runs __main__.py here.

Everything else is the pip of the environment below.
"""

import sys
from importlib.machinery import PathFinder
from importlib.metadata import version
from pathlib import Path

_own = Path(__file__).parent
# The environment below may be such a host's too, with a `pip` like this one.
_spec = PathFinder.find_spec("pip", [p for p in sys.path if Path(p, "pip", "_internal").is_dir()])
if _spec is None or _spec.origin is None:
    raise ModuleNotFoundError("No module named 'pip'", name="pip")
# pip starts itself again by the path of its package.
__file__ = _spec.origin
__path__ = [str(_own), str(Path(_spec.origin).parent)]
__version__ = version("pip")
