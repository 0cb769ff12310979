"""A package index on loopback: `python package_index.py FOLDER [SECONDS]` fills and serves it.

It prints its port, then each request. The package `slow` takes two minutes when it is first
requested, or those seconds.
"""

import http.server
import sys
import time
import zipfile
from pathlib import Path

PACKAGES = (("numpy", "0.0.1"), ("kept", "1.0"), ("slow", "1.0"))


def write_wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"__version__ = '{version}'\n",
        f"{name}/tell.py": f"def main():\n    import {name}\n    print({name}.__file__)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tell = {name}.tell:main\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, content in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, content)


seen: list[str] = []


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        print(self.path, flush=True)
        if self.path.endswith("slow-1.0-py3-none-any.whl") and not seen:
            seen.append(self.path)
            time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 120)
        super().do_GET()

    def end_headers(self) -> None:
        # As package indexes do for files, which never change.
        self.send_header("Cache-Control", "max-age=365000000, immutable, public")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    root = Path(sys.argv[1])
    for name, version in PACKAGES:
        folder = root / name
        folder.mkdir(parents=True)
        write_wheel(folder, name, version)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *given: Handler(*given, directory=str(root))
    )
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
