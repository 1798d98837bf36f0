#!/usr/bin/env bash
# Starts a real MediaWiki with a few pages, for the tests, and stays in the foreground.
#
#   ci/mediawiki.sh HOME [PORT]
#
# HOME  a folder for its database and settings; an installation that is there is used again
# PORT  on the loopback address (default 18080)
#
# Prints `ready http://127.0.0.1:PORT/api.php`. Ctrl-C or SIGTERM stops it. Installs Debian's packages
# where they are missing (needs root for that). QUOTH_WIKI_EXTRACTS=0 leaves the extension TextExtracts out.
set -euo pipefail

home=${1:?usage: ci/mediawiki.sh HOME [PORT]}
port=${2:-18080}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
code=/usr/share/mediawiki
mkdir -p "$home"
home=$(cd "$home" && pwd)
config=$home/LocalSettings.php

if [ ! -f "$code/maintenance/install.php" ] || ! command -v php >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >&2
  apt-get install -y -q --no-install-recommends \
    mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl >&2
fi

if [ ! -f "$home/filled" ]; then
  rm -rf "$home/db" "$config"
  php "$code/maintenance/install.php" --dbtype sqlite --dbname wiki --dbpath "$home/db" --confpath "$home" \
    --server "http://127.0.0.1:$port" --scriptpath "" --pass "only-for-tests-$RANDOM$RANDOM" \
    "Test wiki" Keeper >"$home/install.log" 2>&1
  cat >>"$config" <<'PHP'
$wgServer = 'http://127.0.0.1:' . ( getenv( 'QUOTH_WIKI_PORT' ) ?: '18080' );
if ( getenv( 'QUOTH_WIKI_EXTRACTS' ) !== '0' ) {
    wfLoadExtension( 'TextExtracts' );
}
wfLoadExtension( 'Cite' );
$wgJobRunRate = 0;
$wgCacheDirectory = false;
PHP
  for page in "$here"/tests/mediawiki/pages/*.wiki; do
    title=$(basename "$page" .wiki)
    MW_CONFIG_FILE=$config php "$code/maintenance/edit.php" --user Keeper --summary "A page for the tests" \
      "$title" <"$page" >>"$home/install.log" 2>&1
  done
  MW_CONFIG_FILE=$config php "$code/maintenance/runJobs.php" >>"$home/install.log" 2>&1
  touch "$home/filled"
fi

cd "$code"
export MW_CONFIG_FILE=$config QUOTH_WIKI_PORT=$port
php -S "127.0.0.1:$port" -t "$code" >"$home/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
trap 'exit 0' INT TERM

api=http://127.0.0.1:$port/api.php
for ((try = 0; try < 100; try++)); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "ready $api"
    wait "$server"
    exit 0
  fi
  kill -0 "$server" 2>/dev/null || { tail -n 20 "$home/server.log" >&2; exit 1; }
  sleep 0.1
done
echo "no answer on port $port after 10 s; the log is $home/server.log" >&2
exit 1
