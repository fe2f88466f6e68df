# python.sh — what the run.sh of interop tests with Python packages share; they set `here`, their own folder, and source it.
# The versions that $here/requirements.txt pins are installed into a folder of the build when they are missing.
# shellcheck shell=sh
. "$here/../judge.sh"
. "$here/../venv.sh"

# judge_with_python FOLDER ARGUMENT...: check.py of the test, with its packages.
judge_with_python() {
    folder=$1
    shift
    (install "$folder") >"$tap/log" 2>&1
    verdict $? 'the pinned packages are there'
    judge 'all things' env PYTHONDONTWRITEBYTECODE=1 "$folder/bin/python" "$here/check.py" "$@"
}
