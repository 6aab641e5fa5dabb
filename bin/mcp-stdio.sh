#!/bin/sh
# Starts a server and serves an agent on standard input and output: one message of JSON-RPC a line.
# The agent speaks for root, whose password and every other setting come from SVC_SETTINGS:
#   SVC_SETTINGS="-Dsvc.server.rootPath=/data -Dsvc.server.rootPassword=..." bin/mcp-stdio.sh
# The log goes to standard error. Ends with 0 when the agent closes the input, else with another.
set -eu

self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
exec "$(dirname "$self")/svc" mcp stdio
