#!/bin/sh
# test_packages: scripts/packages, in TAP. Needs no network: npm, node and python3 are stand-ins that write down how they were
# called and do what the case wants.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/tap.sh"
for clone in one two; do
    mkdir -p "$tap/$clone/scripts" "$tap/bin"
    for name in cache node-path packages; do cp "$here/../../scripts/$name" "$tap/$clone/scripts/"; done
done
export XDG_CACHE_HOME="$tap/cache" tap
PATH=$tap/bin:$PATH
stand_in() { # NAME, its script on standard input
    { printf '#!/bin/sh\n' && cat; } >"$tap/bin/$1"
    chmod +x "$tap/bin/$1"
}
stand_in node <<'END'
case $1 in
--version) echo v22.1.0 ;;
-e) grep -q "$(cat package.json)" node_modules/installed ;; # the check of installed versions
esac
END
stand_in npm <<'END'
echo "npm $*" >>"$tap/calls"
mkdir node_modules
cp package.json node_modules/half
if [ -e "$tap/npm-fails" ]; then echo 'npm said no'; exit 1; fi
if [ -e "$tap/npm-is-killed" ]; then kill -KILL "$(cat "$tap/shell")"; exit 1; fi
[ -e "$tap/npm-forgets" ] || mv node_modules/half node_modules/installed
END
stand_in python3 <<'END'
case $1 in
-c) cat "$tap/python-version" ;;
-m)
    shift
    echo "$*" >>"$tap/calls"
    case $1 in
    venv) mkdir -p "$3/bin" && cp "$tap/bin/python3-of-venv" "$3/bin/python" ;; # venv --without-pip FOLDER
    pip) cp "$8" "${3%/*}/installed" ;;                 # pip --python PYTHON install --quiet OPTION -r FILE
    esac
    ;;
esac
END
stand_in python3-of-venv <<'END'
cmp -s "$2" "${0%/*}/installed" # the check of installed versions
END
echo '3 13' >"$tap/python-version"
echo 'a 1' >"$tap/one/package.json"
cp "$tap/one/package.json" "$tap/two/"
echo 'b==1' >"$tap/requirements.txt"

# packages CLONE ARGUMENT...: what it says is in $tap/log, its result in $tap/out; it begins with no calls.
packages() {
    clone=$1
    shift
    : >"$tap/calls"
    "$tap/$clone/scripts/packages" "$@" >"$tap/out" 2>"$tap/log"
}
npm() { packages "$1" npm "$tap/$1/package.json"; }
calls() { [ "$(grep -c "^$1" "$tap/calls")" = "$2" ]; }
entries() { [ "$(ls "$tap/cache/weft/$1" | wc -l)" = "$2" ]; }
whole() { [ "$(cat "$(cat "$tap/out")/installed")" = "$1" ]; }

npm one && calls npm 1 && whole 'a 1'
verdict $? 'a list is installed'
npm one && calls npm 0 && whole 'a 1'
verdict $? 'once'
npm two && calls npm 0 && whole 'a 1'
verdict $? 'for another clone, too'
check '--check finds it' "$tap/one/scripts/packages" --check npm "$tap/one/package.json"
echo 'a 2' >"$tap/two/package.json"
refused '--check of another list' "$tap/two/scripts/packages" --check npm "$tap/two/package.json"
said 'says so' '^packages: not installed: npm'
npm two && calls npm 1 && whole 'a 2' && npm one && calls npm 0 && whole 'a 1' && entries npm 2
verdict $? 'another list is an installation of its own'

rm "$(cat "$tap/out")/installed"
npm one && calls npm 1 && whole 'a 1' && entries npm 2
verdict $? 'one that has lost a package is made again'

echo 'a 3' >"$tap/one/package.json"
cp "$tap/one/package.json" "$tap/two/"
touch "$tap/npm-fails"
! npm one && entries npm 2
verdict $? 'npm fails: nothing has the name of an installation'
said 'what it said is shown' 'npm said no'
said 'and what was to be installed' '^packages: could not install npm .*one/package.json'
rm "$tap/npm-fails"
touch "$tap/npm-forgets"
! npm one && entries npm 2
verdict $? 'npm only says it did'
rm "$tap/npm-forgets"
touch "$tap/npm-is-killed"
! sh -c 'echo $$ >"$tap/shell"; exec "$tap/one/scripts/packages" npm "$tap/one/package.json"' >"$tap/out" 2>"$tap/log" && entries npm 2
verdict $? 'killed in the middle: nothing has the name of an installation'
rm "$tap/npm-is-killed"
npm two && calls npm 1 && whole 'a 3' && entries npm 3
verdict $? 'and the next one makes it whole'

echo 'a 4' >"$tap/one/package.json"
: >"$tap/calls"
"$tap/one/scripts/packages" npm "$tap/one/package.json" >"$tap/first" 2>"$tap/log" &
"$tap/one/scripts/packages" npm "$tap/one/package.json" >"$tap/out" 2>"$tap/log"
wait $!
cmp -s "$tap/first" "$tap/out" && calls npm 1 && whole 'a 4'
verdict $? 'two at the same time install once'

echo 'a 5' >"$tap/one/package.json"
stand_in flock <<'END'
case "$*" in '-w 7 9') exit 1 ;; esac # after seven seconds
END
! WEFT_PACKAGES_WAIT=7 npm one && calls npm 0
verdict $? 'waiting for another process has a limit'
said 'and says what for' '^packages: another process has been installing npm .*package.json for too long'
rm "$tap/bin/flock"

packages one python "$tap/requirements.txt" && calls pip 1 && [ "$(cat "$tap/out")" = "$(echo "$tap/cache/weft/python"/*/bin/python)" ]
verdict $? 'a list of Python packages'
packages two python "$tap/requirements.txt" && calls pip 0
verdict $? 'once'
ln -sf /nowhere/python "$(cat "$tap/out")"
packages one python "$tap/requirements.txt" && calls pip 1 && entries python 1
verdict $? 'a Python that is gone: made again'
echo '3 14' >"$tap/python-version"
packages one python "$tap/requirements.txt" && calls pip 1 && entries python 2
verdict $? 'another Python has an installation of its own'

touch -d '31 days ago' "$tap/cache/weft/npm"/*
npm two && npm one && whole 'a 5' && entries npm 2
verdict $? 'what nobody has used for 30 days is deleted when something else is installed'

refused 'a kind that there is not' "$tap/one/scripts/packages" gems
said 'is wrong usage' 'scripts/packages npm PACKAGE.JSON'
tap_end
