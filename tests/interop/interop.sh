# interop.sh — what the run.sh of interop tests with Node share; they set `here`, their own folder, and source it.
# Node >= 22 is in PATH then (scripts/setup node), or the test is over.
# shellcheck shell=sh
. "$here/../judge.sh"
if ! folder=$("$here/../../../scripts/node-path" 2>"$tap/log"); then
    verdict 1 'there is a Node >= 22'
    tap_end
fi
PATH=$folder:$PATH

# installed: the versions that ./package.json pins are there.
installed() {
    node -e 'const pkg = (p) => JSON.parse(require("fs").readFileSync(p));
        process.exit(Object.entries(pkg("package.json").dependencies).every(([name, version]) =>
          version.endsWith(pkg(`node_modules/${name}/package.json`).version)) ? 0 : 1)' 2>/dev/null
}

# install FOLDER WHAT: the packages of its package.json, where they are missing.
install() {
    (cd "$1" && { installed || npm install --no-package-lock --no-audit --no-fund --ignore-scripts; } && installed) \
        >"$tap/log" 2>&1
    verdict $? "$2 installed"
}
