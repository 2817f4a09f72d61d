"""Jobs of continuous integration that build a package, check it, and keep the compile cache.

The text is complete: a file of GitHub Actions or of GitLab, for a machine without any accelerator.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from dslc.codegen.c_interface.compiling import EXTRA as COMPILER_EXTRA
from dslc.codegen.quoting import shell_word, yaml_string
from dslc.machines.registry import machine_class
from dslc.packaging.spec import Spec

System = Literal["github", "gitlab"]

_GITHUB = """\
name: kernels
on:
  push:
  pull_request:
permissions:
  contents: read
jobs:
  package:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    env:
      DSLC_CACHE_DIR: ${{{{ github.workspace }}}}/.dslc-cache
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install '{requirement}'
      - uses: actions/cache@v4
        with:
          path: .dslc-cache
          # What is restored is checked byte by byte, and built again where it is wrong.
          key: dslc-${{{{ github.run_id }}}}
          restore-keys: dslc-
      - run: {package}
      - run: {verify}
      - run: {lock}
      - uses: actions/upload-artifact@v4
        with:
          name: {name}
          path: |
            {folder}
            {lock_file}
          include-hidden-files: true
          if-no-files-found: error
"""
_GITLAB = """\
kernels:
  image: python:3.12-slim
  timeout: 30 minutes
  variables:
    DSLC_CACHE_DIR: "$CI_PROJECT_DIR/.dslc-cache"
    PIP_DISABLE_PIP_VERSION_CHECK: "1"
  cache:
    # What is restored is checked byte by byte, and built where it is wrong.
    key: dslc
    paths: [.dslc-cache]
  script:
    - pip install '{requirement}'
    - {package}
    - {verify}
    - {lock}
  artifacts:
    paths:
      - {folder}
      - {lock_file}
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file is about: the specification's path in the repository, and dslc's version."""

    spec: Spec
    path: PurePosixPath
    version: str

    def text(self, system: System) -> str:
        """The job file of a system."""
        template = _GITHUB if system == "github" else _GITLAB
        name = self.spec.package.name
        folder, lock = f"build/{name}.dslc", "build/dslc.lock"
        native = "".join(f" --require-native {t}" for t in self._targets())
        return template.format(
            name=name, folder=folder, lock_file=lock, requirement=self._requirement(),
            package=yaml_string(f"dslc package {shell_word(str(self.path))} -o {folder}"),
            verify=f"dslc verify {folder}{native}",
            lock=f"dslc lock {folder} -o {lock}",
        )  # fmt: skip

    def _targets(self) -> list[str]:
        """Those that every kernel is compiled for."""
        first, *rest = [t.targets or self.spec.package.targets for t in self.spec.kernel]
        return [t for t in dict.fromkeys(first) if all(t in r for r in rest)]

    def _requirement(self) -> str:
        """dslc with the extras that the targets want."""
        targets = {t for k in self.spec.kernel for t in k.targets or self.spec.package.targets}
        extras = {machine_class(t).facts.extra for t in targets} - {""}
        if self.spec.package.consumers:
            extras.add(COMPILER_EXTRA)
        listed = f"[{','.join(sorted(extras))}]" if extras else ""
        return f"dslc{listed}=={self.version}"
