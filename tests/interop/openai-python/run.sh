#!/bin/sh
# run.sh BUILD_DIR: `weft serve` with the real Python client, the package `openai`: the newest of its majors 1, 2 and 3, every *.py of this folder.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../interop.sh"
build=$(CDPATH='' cd -- "$1" && pwd)

for list in requirements-1.txt requirements-2.txt ../requirements.txt; do
    version=$(sed -n 's/^openai==//p' "$here/$list")
    prefix="$version: "
    use_python "$here/$list"
    for script in "$here"/*.py; do
        name=$(basename "$script" .py)
        mkdir "$tap/$version-$name"
        judge "$name: all things" "$python" -W ignore "$script" "$build/weft" "$tap/$version-$name"
        no_reports "$version: $name" "$tap/$version-$name"/log "$tap/$version-$name"/*/log
    done
done
. "$here/../examples.sh"
examples "$build/weft" "$version" "$python -W ignore" tutor.py weather.py
tap_end
