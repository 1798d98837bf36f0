#!/usr/bin/env bash
# Builds the wheel, installs it bare in a new environment, and asks a question with the source out of reach.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(cd "$root" && realpath -s "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m build --wheel --outdir "$work/dist" "$root" >/dev/null
wheel=$(ls "$work"/dist/quoth-*.whl)
size=$(stat -c %s "$wheel")
echo "wheel: $((size / 1000000)) MB"
[ "$size" -le 64000000 ] || { echo "the wheel is over 64 MB"; exit 1; }

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$wheel"
# What pip brings for itself and the byte code that it writes are not the install's own.
installed=$(du -sm --apparent-size --exclude=__pycache__ --exclude=pip --exclude=setuptools --exclude=pkg_resources \
  "$work/venv/lib" | cut -f1)
echo "installed: $installed MB"
# The aim is 300 MB; python-pptx brings Pillow, which keeps it a little above.
[ "$installed" -le 315 ] || { echo "the base install is over 315 MB"; exit 1; }
"$work/venv/bin/python" - <<'PY'
import importlib.util
for name in ("torch", "transformers", "openvino", "fastapi"):
    if importlib.util.find_spec(name):
        raise SystemExit(f"the base install brings {name}")
PY

cp -r "$root/samples" "$work/documents"
rm -rf "$work/documents/.quoth"
cd "$work/documents"
env -u PYTHONPATH "$work/venv/bin/quoth" index . --quiet
answer=$(env -u PYTHONPATH "$work/venv/bin/quoth" ask "How much notice must the tenant give?" --json)
"$work/venv/bin/python" - "$answer" <<'PY'
import json, sys
reply = json.loads(sys.argv[1])
answer = reply["answer"]
if not answer:
    raise SystemExit(f"the wheel gives no answer: {reply}")
print("the wheel answers:", answer["text"], "-", answer["source"])
PY
