"""Builds the program for `pip install ./src/tools/check`; pyproject.toml has the rest."""
import atexit
import os
import shutil
import subprocess
import tempfile
from setuptools import Distribution, setup
from setuptools.command.build_py import build_py


class Build(build_py):
    def run(self):
        super().run()
        root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
        build = os.path.abspath(os.path.join(self.build_lib, "../program"))
        program = os.path.join(build, "double/gradcheck")
        if subprocess.call(["make", "-s", "-C", root, "BUILD=" + build, program]):
            raise SystemExit("gradcheck: not built, needs a C compiler and GNU make")
        shutil.copy(program, os.path.join(self.build_lib, "gradcheck"))


class WithProgram(Distribution):
    def has_ext_modules(self):  # the wheel is for this machine
        return True


folder = tempfile.mkdtemp()  # nothing is left in the source tree
atexit.register(shutil.rmtree, folder)
setup(cmdclass={"build_py": Build}, distclass=WithProgram,
      options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
