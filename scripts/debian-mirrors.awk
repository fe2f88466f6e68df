# debian-mirrors.awk: prints the Debian mirrors of apt source files, in both formats (*.sources and one-line *.list).
#
#   awk -v codename=bookworm -f scripts/debian-mirrors.awk /etc/apt/sources.list.d/debian.sources
#
# Prints the mirrors that serve the suite `codename`, each as the beginning of a source stanza (URIs, Signed-By, Trusted)
# and an empty line. The order: mirrors signed by Debian's keyring, then those at .../debian without Signed-By, then other
# candidates. A source at another path with a key of its own is not a Debian mirror.
function has(words, word,   i, n, w) {
  n = split(words, w, /[ \t\n]+/)
  for (i = 1; i <= n; i++) if (w[i] == word) return 1
  return 0
}
function take(   i, n, uri, uris, at_debian, by_debian, named, rank) {
  named = has(f["suites"], codename)
  if (has(f["types"], "deb") && tolower(f["enabled"]) !~ /^(no|false|without|off|disable|0)$/ &&
      (named || has(f["suites"], "stable") || has(f["suites"], "oldstable")) && has(f["components"], "main")) {
    by_debian = f["signed-by"] ~ /debian-archive-/
    n = split(f["uris"], uris, /[ \t\n]+/)
    for (i = 1; i <= n; i++) {
      uri = uris[i]
      at_debian = uri ~ /\/debian\/?$/
      if (uri == "" || uri ~ /^cdrom:/ || (uri in seen)) continue
      if (!by_debian && !at_debian && (!named || f["signed-by"] != "")) continue
      rank = by_debian ? 1 : (at_debian && f["signed-by"] == "") ? 2 : 3
      seen[uri] = 1
      found[rank] = found[rank] "URIs: " uri "\n" (f["signed-by"] == "" ? "" : "Signed-By: " f["signed-by"] "\n") \
        (f["trusted"] == "" ? "" : "Trusted: " f["trusted"] "\n") "\n"
    }
  }
  split("", f)
}
function set(line,   name) { # "Name: value"
  name = tolower(substr(line, 1, index(line, ":") - 1))
  sub(/^[^:]*:[ \t]*/, "", line)
  f[name] = line
  return name
}
{ sub(/[ \t\r]+$/, "") }
FNR == 1 { take(); last = "" }
FILENAME ~ /\.sources$/ {
  if ($0 ~ /^#/) next
  if ($0 == "") { take(); last = "" }
  else if ($0 ~ /^[ \t]/) { if (last != "") f[last] = f[last] "\n" $0 }
  else last = set($0)
  next
}
/^[ \t]*deb[ \t]/ {
  sub(/#.*/, "")
  sub(/^[ \t]*deb[ \t]+/, "")
  if (match($0, /^\[[^]]*\]/)) {
    n = split(substr($0, 2, RLENGTH - 2), option, /[ \t]+/)
    for (i = 1; i <= n; i++) if (sub(/=/, ":", option[i])) set(option[i])
    gsub(/,/, " ", f["signed-by"])
    $0 = substr($0, RLENGTH + 1)
  }
  f["types"] = "deb"; f["uris"] = $1; f["suites"] = $2
  for (i = 3; i <= NF; i++) f["components"] = f["components"] " " $i
  take()
}
END { take(); printf "%s%s%s", found[1], found[2], found[3] }
