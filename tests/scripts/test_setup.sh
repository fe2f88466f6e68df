#!/bin/sh
# test_setup: scripts/setup and scripts/node-path, in TAP. Needs no network and no root: dpkg, apt-get, sudo and the
# rest are stand-ins on a PATH of the test's own that say what the case wants and write down how they were called.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/weft-test-setup.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
count=0 failed=0

ok() { # NAME, after a command whose result counts
  result=$?
  count=$((count + 1))
  if [ "$result" = 0 ]; then echo "ok $count - $1"; return; fi
  failed=$((failed + 1))
  echo "not ok $count - $1"
  sed 's/^/# out: /' "$tmp/out"
  sed 's/^/# err: /' "$tmp/err"
  if [ -e "$tmp/calls" ]; then sed 's/^/# call: /' "$tmp/calls"; fi
}
is() { # NAME EXPECTED: all of standard output
  printf '%s\n' "$2" | cmp -s - "$tmp/out"
  ok "$1"
}
has() { grep -qF -- "$2" "$tmp/$1"; }
lacks() { ! grep -qF -- "$2" "$tmp/$1"; }
status() { [ "$rc" = "$1" ]; }

# ---- the mirrors in apt's source files ----

os() { # FILE ID VERSION_ID CODENAME
  printf 'PRETTY_NAME="A System"\nID=%s\nVERSION_ID="%s"\nVERSION_CODENAME=%s\n' "$2" "$3" "$4" >"$tmp/$1"
}
os deb12 debian 12 bookworm
os deb13 debian 13 trixie
os ubuntu ubuntu 24.04 noble
mkdir "$tmp/sources"
sample() { cat >"$tmp/sources/$1"; }
mirrors() { # FILE...
  for name; do shift; set -- "$@" "$tmp/sources/$name"; done
  WEFT_OS_RELEASE=$tmp/deb12 "$root/scripts/setup" --mirror "$@" >"$tmp/out" 2>"$tmp/err"
  rc=$?
}
key=/usr/share/keyrings/debian-archive-keyring.gpg

sample debian.sources <<END
Types: deb
# http://snapshot.example.org/archive/debian/20250520T000000Z
URIs: http://mirror.example.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: $key

Types: deb
# http://snapshot.example.org/archive/debian-security/20250520T000000Z
URIs: http://mirror.example.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: $key
END
mirrors debian.sources
is "stanzas: the suite's own mirror, not security, not a comment" "URIs: http://mirror.example.org/debian
Signed-By: $key
"

sample odd.sources <<END
types: deb deb-src
uris:
  https://one.example.org/debian/
  https://two.example.org/debian
suites:
	bookworm
	bookworm-backports
# a comment in the middle
components: main
 contrib
trusted: yes
END
mirrors odd.sources
is "stanzas: continued lines, any case, several mirrors, kept trust" "URIs: https://one.example.org/debian/
Trusted: yes

URIs: https://two.example.org/debian
Trusted: yes
"

sample skipped.sources <<END
Enabled: no
Types: deb
URIs: http://disabled.example.org/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example.org/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://contrib.example.org/debian
Suites: bookworm
Components: contrib

Types: deb
URIs: http://other.example.org/debian
Suites: trixie bookworm-backports
Components: main

Types: deb
URIs: https://tool.example.com/apt
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/tool.gpg

Types: deb
URIs: https://node.example.com/node_20.x
Suites: nodistro
Components: main

Types: deb
URIs: https://vendor.example.com/linux/deb
Suites: stable
Components: main

Types: deb
URIs: cdrom:[Debian_12]/
Suites: bookworm
Components: main
END
mirrors skipped.sources
{ status 0 && [ ! -s "$tmp/out" ]; }
ok "stanzas: disabled, source-only, other suites and components, third parties, cdrom are skipped"

sample embedded.sources <<END
Types: deb
URIs: https://company.example.org/debian
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
END
mirrors embedded.sources
is "stanzas: a key in the file itself is kept" "URIs: https://company.example.org/debian
Signed-By: 
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----
"

sample sources.list <<END
# deb http://commented.example.org/debian bookworm main
deb cdrom:[Debian GNU/Linux 12 _Bookworm_]/ bookworm main
deb-src http://source.example.org/debian bookworm main
deb http://mirror.example.org/debian-security bookworm-security main
deb http://mirror.example.org/debian bookworm-updates main
  deb	http://plain.example.org/debian/ bookworm main contrib # near
deb [ arch=amd64,arm64 signed-by=$key,/etc/other.gpg ] http://signed.example.org/debian bookworm contrib main
deb [signed-by=/usr/share/keyrings/tool.gpg] https://tool.example.com/apt bookworm main
deb [trusted=yes] http://[::1]:3142/apt bookworm main
deb http://plain.example.org/debian/ bookworm main
END
mirrors sources.list
is "lines: options, order by trust, no duplicates, address in brackets" "URIs: http://signed.example.org/debian
Signed-By: $key /etc/other.gpg

URIs: http://plain.example.org/debian/

URIs: http://[::1]:3142/apt
Trusted: yes
"

sample cloud.sources <<END
Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
Suites: bookworm bookworm-updates bookworm-backports
Components: main
END
printf 'Types: deb\r\nURIs: http://last.example.org/debian\r\nSuites: oldstable\r\nComponents: main' |
  sample end.sources
mirrors cloud.sources sources.list end.sources
{ grep '^URIs' "$tmp/out" | cut -d' ' -f2 | tr '\n' ' ' >"$tmp/got" && printf '%s ' http://signed.example.org/debian \
  http://plain.example.org/debian/ http://last.example.org/debian mirror+file:///etc/apt/mirrors/debian.list \
  'http://[::1]:3142/apt' | cmp -s - "$tmp/got"; }
ok "several files: a mirror list, a suite by its other name, no newline at the end"

# ---- what is missing ----

mkdir "$tmp/bin"
for tool in sh awk sed grep head tail cat mktemp rm mkdir chmod dirname env touch mv find cut uname sha256sum flock; do
  path=$(command -v $tool) && case $path in /*) ln -s "$path" "$tmp/bin/$tool" ;; esac
done
stand_in() { # NAME, its script on standard input; calls are written down
  { printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\ntmp=%s\n' "$1" "$tmp" "$tmp"; cat; } >"$tmp/bin/$1"
  chmod +x "$tmp/bin/$1"
}
absent() { for name; do rm -f "$tmp/bin/$name"; done; }
setup() { # OS ARGUMENT...
  : >"$tmp/calls"
  name=$1
  shift
  PATH=$tmp/bin TMPDIR=$tmp/left XDG_CACHE_HOME=$tmp/cache WEFT_OS_RELEASE=$tmp/$name \
    "$root/scripts/setup" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
  rc=$?
}
clean() { [ -z "$(ls "$tmp/left")" ]; }
mkdir "$tmp/left"

# dpkg-query knows the packages of $tmp/installed; pkg-config the modules of $tmp/modules.
stand_in dpkg-query <<'END'
code=0
for name in "$@"; do
  case $name in -*|*'$'*) continue ;; esac
  if grep -qx "$name" "$tmp/installed"; then echo "$name amd64 installed"
  elif grep -qx "$name:old" "$tmp/installed"; then echo "$name amd64 config-files"
  elif grep -qx "$name:i386" "$tmp/installed"; then echo "$name i386 installed"
  else code=1; fi
done
exit $code
END
stand_in dpkg <<'END'
case $1 in --print-architecture) cat "$tmp/arch" ;; *) exit 1 ;; esac
END
stand_in pkg-config <<'END'
grep -qxF -- "$2" "$tmp/modules"
END
stand_in id <<'END'
cat "$tmp/uid"
END
stand_in apt-get <<'END'
echo "apt said: $*"
exit 100
END
stand_in apt-cache </dev/null
stand_in true </dev/null
all() { # every package of the build, but those named
  : >"$tmp/installed"
  for p in build-essential pkg-config meson ninja-build libuv1-dev libcurl4-openssl-dev libsqlite3-dev \
    libssl-dev libfyaml-dev libcmocka-dev libedit-dev libmd4c-dev tmux curl; do
    case " $* " in *" $p "*) ;; *) echo "$p" >>"$tmp/installed" ;; esac
  done
  printf '%s\n' 'yyjson >= 0.10' 'libllhttp >= 9' >"$tmp/modules"
}
echo amd64 >"$tmp/arch"
echo 0 >"$tmp/uid"

all
setup deb12
{ status 0 && [ "$(cat "$tmp/out")" = 'setup: build: all there' ] && lacks calls apt-get && clean &&
  [ "$(grep -c dpkg-query "$tmp/calls")" = 1 ]; }
ok "all there: one dpkg-query, no apt-get, one line"
setup deb13 --check
{ status 0 && has out 'nothing is missing'; }
ok "--check with all there"

all meson libfyaml-dev
echo 'libfyaml-dev:old' >>"$tmp/installed"
: >"$tmp/modules"
setup deb12 --check
{ status 1 && has err 'missing: meson libfyaml-dev libyyjson-dev (>= 0.10) libllhttp-dev (>= 9)' && lacks calls apt-get; }
ok "--check names what is missing, also what is removed but configured"
all libssl-dev libuv1-dev
echo 'libssl-dev:i386' >>"$tmp/installed"
echo libuv >>"$tmp/modules"
setup deb12 --check
{ status 1 && grep -qx 'setup: missing: libssl-dev' "$tmp/err"; }
ok "--check: another architecture's does not count, one built by hand does"
setup deb12 --check clang format
{ status 1 && has err 'missing: clang llvm libclang-rt-14-dev clang-format'; }
ok "--check clang on Debian 12"
setup deb13 --check clang valgrind coverage postgres python browser
{ status 1 && has err 'clang llvm libclang-rt-19-dev valgrind gcovr' &&
  has err 'python3-venv python3-pip chromium chromium-driver'; }
ok "--check of the other parts on Debian 13"
setup deb12 --check build nonsense
{ status 2 && has err 'no part is named nonsense'; }
ok "an unknown part"
setup deb12 --help
{ status 0 && has out 'scripts/setup --check'; }
ok "--help"

# ---- elsewhere ----

all
: >"$tmp/modules"
setup ubuntu
{ status 1 && has err 'not Debian 12 or 13' && has err 'libuv1-dev' && has err 'libyyjson-dev (>= 0.10)' &&
  lacks calls apt-get; }
ok "another system: names the packages and stops, whatever dpkg says"
printf '%s\n' libuv libcurl sqlite3 openssl libfyaml cmocka libedit md4c 'yyjson >= 0.10' \
  'libllhttp >= 9' >"$tmp/modules"
for tool in make cc c++ meson ninja tmux curl; do stand_in $tool </dev/null; done
setup ubuntu
status 0
ok "another system prepared by hand passes"
setup nothing-there
status 0
ok "so does one without an os-release file"
absent make cc c++ meson ninja
all meson
echo riscv64 >"$tmp/arch"
setup deb12
{ status 1 && has err 'not Debian 12 or 13 on amd64 or arm64'; }
ok "another architecture counts as elsewhere"
echo amd64 >"$tmp/arch"

# ---- becoming root ----

echo 1000 >"$tmp/uid"
setup deb12 build
{ status 1 && has err "no sudo here; run as root:  $root/scripts/setup build" && lacks calls apt-get; }
ok "not root, no sudo: says what root has to run"
stand_in sudo <<'END'
echo 'sudo: a password is required' >&2
exit 1
END
setup deb12 build
{ status 1 && has err 'sudo wants a password' && has err "as root:  $root/scripts/setup build" && lacks calls apt-get; }
ok "sudo that wants a password without a terminal"
stand_in sudo <<'END'
[ "$1" = -n ] && shift
exec "$@"
END
stand_in apt-get <<'END'
case " $* " in *' install '*) echo meson >>"$tmp/installed" ;; esac
END
setup deb12 build
{ status 0 && has calls 'sudo -n env DEBIAN_FRONTEND=noninteractive apt-get' &&
  has out 'setup: installing meson' && clean; }
ok "through sudo"
absent sudo
echo 0 >"$tmp/uid"

# ---- apt that fails ----

all meson
stand_in apt-get <<'END'
case " $* " in
  *' update '*) i=0; while [ $i -lt 30 ]; do i=$((i + 1)); echo "line $i."; done; touch "$tmp/fresh"; exit 100 ;;
  *' install '*) [ -e "$tmp/fresh" ] || exit 100; echo meson >>"$tmp/installed" ;;
esac
END
setup deb12
{ status 0 && has err 'warning: apt-get update failed' && [ "$(grep -c '^apt-get.* update' "$tmp/calls")" = 1 ] &&
  lacks out 'line' && clean; }
ok "old lists: one update; a broken source does not stop what installs"
all meson
stand_in apt-get <<'END'
i=0; while [ $i -lt 30 ]; do i=$((i + 1)); echo "line $i."; done; exit 100
END
setup deb12
{ status 1 && has err 'could not install meson' && has err 'line 30.' && [ "$(grep -c '^line' "$tmp/err")" = 20 ]; }
ok "apt that fails: the last 20 lines of its log"
rm -f "$tmp"/left/*
stand_in apt-get </dev/null
setup deb12
{ status 1 && has err 'still missing: meson'; }
ok "apt that only says it did"
rm -f "$tmp"/left/*

# ---- yyjson and llhttp on Debian 12 ----

mkdir -p "$tmp/etc/sources.list.d"
stand_in apt-config <<'END'
echo "list='$tmp/etc/sources.list'"
echo "folder='$tmp/etc/sources.list.d'"
END
two() { # both libraries missing, two mirrors; apt-get does what standard input says
  all
  : >"$tmp/modules"
  printf 'deb http://one.example.org/debian bookworm main\n' >"$tmp/etc/sources.list"
  printf 'deb http://me:secret@two.example.org/debian bookworm main\n' >"$tmp/etc/sources.list.d/two.list"
  {
    cat <<'END'
for option in "$@"; do
  case $option in Dir::Etc::SourceList=*) source=${option#*=} ;; Dir::Etc::Preferences=*) pin=${option#*=} ;; esac
done
{ cat "$source"; echo; cat "$pin"; } >>"$tmp/used"
done_both() { printf '%s\n' 'yyjson >= 0.10' 'libllhttp >= 9' >"$tmp/modules"; }
END
    cat
  } | stand_in apt-get
  : >"$tmp/used"
}
two <<'END'
case " $* " in
  *' -s '*) echo "Inst libyyjson0 (0.10.0 Debian:13)"; echo "Inst libyyjson-dev (0.10.0)" ;;
  *' install '*) done_both ;;
esac
END
setup deb12
{ status 0 && has out 'from trixie of http://one.example.org/debian' && has used 'Suites: trixie' &&
  has used 'Pin-Priority: 100' &&
  has calls 'install libyyjson-dev libllhttp-dev' && lacks used two.example && clean; }
ok "both come from trixie of the machine's mirror; nothing is left behind"
two <<'END'
case " $* " in
  *' -s '*) echo "Inst libyyjson0 (0.10.0)"; echo "Inst libc6 [2.36] (2.41)" ;;
  *' install '*) done_both ;;
esac
END
setup deb12
{ status 1 && has err 'would also change libc6: not done' &&
  lacks calls 'lists -o Acquire::Languages=none install' && clean; }
ok "refuses where libc6 would be upgraded"
two <<'END'
case " $* " in
  *' update '*) ! grep -q one.example "$source" || exit 100 ;;
  *' -s '*) ;;
  *' install '*) done_both ;;
esac
END
setup deb12
{ status 0 && has used one.example && has used me:secret@two.example && lacks out secret && lacks err secret && clean; }
ok "the next mirror where one fails; its password is not shown"
two <<'END'
echo "no route"; exit 100
END
setup deb12
{ status 1 && has err 'no apt source of this machine gave libyyjson-dev libllhttp-dev of trixie' &&
  has err 'no route' &&
  rm "$tmp"/left/weft-setup-log.* && clean; }
ok "no mirror works: says so, nothing but the log is left"
rm -f "$tmp"/left/*
two <<'END'
case " $* " in *' update '*) kill -TERM "$PPID" ;; esac
END
setup deb12
{ status 143 && clean; }
ok "ended in the middle: nothing is left behind"
two <<'END'
case " $* " in *' install '*) done_both ;; esac
END
stand_in apt-cache <<'END'
printf '%s:\n  Installed: (none)\n  Candidate: 0.10.0-1~bpo12+1\n' "$2"
END
stand_in dpkg <<'END'
case $1 in --print-architecture) cat "$tmp/arch" ;; *) exit 0 ;; esac
END
setup deb12
{ status 0 && lacks out trixie && has calls 'install libyyjson-dev libllhttp-dev'; }
ok "the machine's own apt has them: an ordinary install"
two <<'END'
case " $* " in *' install '*) done_both ;; esac
END
setup deb13
{ status 0 && lacks out 'from trixie' && lacks calls apt-cache; }
ok "Debian 13: an ordinary install"

# ---- node ----

node_path() { PATH=$tmp/bin XDG_CACHE_HOME=$tmp/cache "$copy/scripts/node-path" >"$tmp/out" 2>"$tmp/err"; rc=$?; }
copy=$tmp/copy
mkdir -p "$copy/scripts"
for name in cache node-path packages setup; do cp "$root/scripts/$name" "$copy/scripts/"; done
node_path
{ status 1 && has err 'scripts/setup node'; }
ok "node-path without a node"
echo 'echo v22.1.0' | stand_in node
node_path
{ status 0 && [ "$(cat "$tmp/out")" = "$tmp/bin" ]; }
ok "node-path: the machine's node where it is 22 or newer"
echo 'echo v20.20.2' | stand_in node
stand_in npm <<'END'
[ ! -e "$tmp/npm-fails" ] || { echo "npm said no"; exit 1; }
bin=$3/node_modules/node/bin
mkdir -p "$bin"
printf '#!/bin/sh\necho v22.23.3\n' >"$bin/node"
chmod +x "$bin/node"
END
real=$root
root=$copy
touch "$tmp/npm-fails"
setup deb12 --check node
{ status 1 && has err 'missing: node@22 (npm)'; }
ok "--check node with an older node"
setup deb12 node
{ status 1 && has err 'npm could not install node@22' && has err 'npm said no'; }
ok "npm that fails"
rm -f "$tmp/npm-fails" "$tmp"/left/*
setup ubuntu node
{ status 0 && grep -q "^setup: node: $tmp/cache/weft/node/[0-9a-f]*/node_modules/node/bin/node$" "$tmp/out" &&
  lacks calls apt-get && clean; }
ok "an older node and npm: node@22 from npm, on any system"
setup deb12 node
{ status 0 && lacks calls 'npm install'; }
ok "and not a second time"
root=$real

echo "1..$count"
[ "$failed" = 0 ]
