"""A package as a wheel: `pip install`, then `llm_kernels.load()`.

The format is that of the Binary distribution format (packaging.python.org, "Binary distribution
format", 1.0). Times and modes are fixed, so that the same package gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from dslc.codegen.quoting import docstring, header_line
from dslc.compiler.diagnostics import error
from dslc.packaging.spec import is_version
from dslc.runtime.package.folder import KEPT, PackageFolder
from dslc.runtime.package.index import INDEX

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip file can name
_INIT = '''from pathlib import Path

DIGEST = "{digest}"
PATH = Path(__file__).with_name("package")


def load(**options):
    """The kernels, once every byte was checked against the digest that came with this module.

    Options are those of `dslc.runtime.load`.
    """
    try:
        from dslc_runtime import load as load_package
    except ModuleNotFoundError:  # all of dslc has it too
        from dslc.runtime import load as load_package

    return load_package(PATH, digest=DIGEST, **options)
'''
_METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Kernels compiled by dslc for {targets}
Requires-Python: >=3.11
Requires-Dist: dslc-runtime>={dslc}
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: dslc
Root-Is-Purelib: true
Tag: py3-none-any
"""


def write_wheel(package: PackageFolder, folder: Path) -> Path:
    """Write a package's wheel into a folder; its path. DSL0831 where it cannot be written or named.

    Libraries of hosts lie in the package as data, so that one wheel serves all of them. Python sources
    (for NKI or Hugging Face) have an underscore behind their names, which a package's reader knows.
    """
    package.check()
    index = package.index
    if not (index.name.isidentifier() and index.name.isascii() and is_version(index.version)):
        text = f"{index.name} {index.version} cannot be the name and version of a wheel"
        raise error("DSL0831", text, hint="dslc package makes wheels of what it builds")
    info = f"{index.name}-{index.version}.dist-info"
    title = docstring(f"Compiled kernels: {', '.join(k.name for k in index.kernels)}.") + "\n"
    files = {
        f"{index.name}/__init__.py": (title + _INIT.format(digest=package.digest)).encode(),
        f"{index.name}/package/{INDEX}": package.text,
        **{f"{index.name}/package/{_kept(p)}": package.read(p) for p in index.files},
        f"{info}/METADATA": _METADATA.format(
            name=index.name,
            version=index.version,
            targets=header_line(", ".join(index.targets)),
            dslc=header_line(index.origins.dslc),
        ).encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
    }
    record = f"{info}/RECORD"
    files[record] = "".join(f"{p},{_hash(c)},{len(c)}\n" for p, c in files.items()).encode()
    files[record] += f"{record},,\n".encode()
    path = folder / f"{index.name}-{index.version}-py3-none-any.whl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_zipped(files))
    except OSError as failure:
        text = f"{path} cannot be written: {failure.strerror or failure}"
        raise error("DSL0831", text) from None
    return path


def _kept(path: str) -> str:
    return path + KEPT if path.endswith(".py") else path


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def _zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, whatever this machine is
            archive.writestr(entry, content)
    return out.getvalue()
