"""Jobs of continuous integration that build a package, check it, and keep the compile cache.

The text is complete: a file of GitHub Actions or of GitLab, for a machine without any accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator
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
  id-token: write  # to attest who built it
  attestations: write
jobs:
  package:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    env:
      DSLC_CACHE_DIR: ${{{{ github.workspace }}}}/.dslc-cache
    steps:
      - uses: {checkout}
      - uses: {setup_python}
        with:
          python-version: "3.12"
      - run: {install}
      - uses: {cache}
        with:
          path: .dslc-cache
          # What is restored is checked byte by byte, and built again where it is wrong.
          key: dslc-${{{{ github.run_id }}}}
          restore-keys: dslc-
{checks}      - run: {package}
      - run: {verify}
      - run: {lock}
      - uses: {attest}
        if: github.event_name == 'push'
        with:
          subject-path: {lock_file}
      - uses: {upload}
        with:
          name: {name}
          path: |
            {folder}
            {lock_file}
          include-hidden-files: true
          if-no-files-found: error
"""
# Each action by the commit of a release: a tag can be moved to another.
_ACTIONS = {
    "checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
    "setup_python": "actions/setup-python@0b93645e9fea7318ecaed2b359559ac225c90a2b # v5.3.0",
    "cache": "actions/cache@1bd1e32a3bdc45362d1e726936510720a7c30a57 # v4.2.0",
    "upload": "actions/upload-artifact@65c4c4a1ddee5b72f698fdd19549f0f0fb45cf08 # v4.6.0",
    "attest": "actions/attest-build-provenance@977bb373ede98d70efbf0b7b13af9c3d6651dc60 # v4.1.0",
}
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
    - {install}
{checks}    - {package}
    - {verify}
    - {lock}
  artifacts:
    paths:
      - {folder}
      - {lock_file}
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What a job file is about: the specification's path in the repository, and where dslc is from.

    `source` is a folder or a wheel in the repository, or a requirement of an index (`dslc==1.2`).
    """

    spec: Spec
    path: PurePosixPath
    source: str

    def text(self, system: System) -> str:
        """The job file of a system."""
        template = _GITHUB if system == "github" else _GITLAB
        name = self.spec.package.name
        folder, lock = f"build/{name}.dslc", "build/dslc.lock"
        step = "      - run: " if system == "github" else "    - "
        native = "".join(f" --require-native {t}" for t in self._targets())
        return template.format(
            name=name,
            folder=folder,
            lock_file=lock,
            install=yaml_string(f"pip install {shell_word(self._requirement())}"),
            checks="".join(f"{step}{c}\n" for c in self._checks()),
            **(_ACTIONS if system == "github" else {}),
            package=yaml_string(f"dslc package {shell_word(str(self.path))} -o {folder}"),
            verify=f"dslc verify {folder}{native}",
            lock=f"dslc lock {folder} -o {lock}",
        )

    def _checks(self) -> Iterator[str]:
        """Commands that check the kernels' numbers, those whose dims the specification tells."""
        for table in self.spec.kernel:
            told = {**table.sizes, **table.dims}
            dims = {n: v[0] if isinstance(v, list) else v for n, v in told.items()}
            file = self.path.parent / table.source
            words = ["dslc", "check", str(file)]
            words += [w for n, v in table.define.items() for w in ("-D", f"{n}={v}")]
            yield yaml_string(" ".join(map(shell_word, words)))
            if dims and table.kernel:
                words = ["dslc", "run", str(file), "-k", table.kernel, "--verify", *words[3:]]
                words += [w for n, v in dims.items() for w in ("--dim", f"{n}={v}")]
                yield yaml_string(" ".join(map(shell_word, words)))

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
        name, comparison, version = self.source.partition("==")
        return f"{name}{listed}{comparison}{version}"
