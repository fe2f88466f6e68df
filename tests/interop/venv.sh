# venv.sh — the packages that $here/requirements.txt pins, in a folder of the build.
# shellcheck shell=sh

installed() { # installed PYTHON
    "$1" - "$here/requirements.txt" <<'END_OF_PYTHON'
import sys
from importlib.metadata import version
sys.exit(any(version(name) != pinned for name, pinned in (line.strip().split("==") for line in open(sys.argv[1]))))
END_OF_PYTHON
}

# install FOLDER: its bin/python has the packages then.
install() {
    installed "$1/bin/python" 2>/dev/null && return
    rm -rf "$1"
    python3 -m venv "$1" &&
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
}
