# python.sh — what the run.sh of interop tests with Python packages share; they set `here`, their own folder, and source it.
# The versions that $here/requirements.txt pins are installed into a folder of the build when they are missing.
# shellcheck shell=sh
. "$here/../judge.sh"

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

# judge_with_python FOLDER ARGUMENT...: check.py of the test, with its packages.
judge_with_python() {
    folder=$1
    shift
    (install "$folder") >"$tap/log" 2>&1
    verdict $? 'the pinned packages are there'
    judge 'all things' env PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/check.py" "$@"
}
