#!/usr/bin/env bash
# Starts a real OpenSearch for the tests, and stays in the foreground: Ctrl-C or SIGTERM stops it.
#
#   ci/opensearch.sh HOME [NODES] [PORT]
#
# Uses the starter that QUOTH_OPENSEARCH_START names, else ../shared/opensearch/start beside the checkout
# (both need Java 17), else Docker with compose.yaml. Prints `ready URL` when it answers.
# Exit status 3: none of them is to be had.
set -euo pipefail

home=${1:?usage: ci/opensearch.sh HOME [NODES] [PORT]}
nodes=${2:-1}
port=${3:-19200}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
starter=${QUOTH_OPENSEARCH_START:-$here/../shared/opensearch/start}

if [ -x "$starter" ] && command -v java >/dev/null; then
  exec "$starter" "$home" "$nodes" "$port"
fi
if ! docker compose version >/dev/null 2>&1; then
  echo "neither $starter with Java, nor Docker, is here" >&2
  exit 3
fi

export QUOTH_OPENSEARCH_PORT=$port
compose=(docker compose --file "$here/compose.yaml" --project-name "quoth-test-$port")
trap '"${compose[@]}" down --volumes >/dev/null 2>&1 || true' EXIT
trap 'exit 0' INT TERM
"${compose[@]}" up --detach --wait >&2
echo "ready http://127.0.0.1:$port"
"${compose[@]}" logs --follow >"$home.log" 2>&1 &
wait $!
