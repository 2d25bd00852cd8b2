#!/bin/sh
# Adds what has happened since the last time to a file, a line of JSON for each event: an audit
# trail, for cron.
#
#     HEAT_URL=http://heat:8004/v1/PROJECT OS_TOKEN=… trail.sh trail.jsonl [stack=web&nested=true]
set -eu
trail=$1
# Only the whole lines of events count, should the last run have been cut short.
after=$(sed -n 's/^{"position":\([0-9]*\),.*}$/\1/p' "$trail" 2>/dev/null | tail -n 1)
curl --silent --show-error --fail \
    --header "X-Auth-Token: $OS_TOKEN" --header 'Accept: application/x-ndjson' \
    --output "$trail.new" "$HEAT_URL/feed?until=now&after=${after:-0}&${2:-}"
# Lines without an event show that the server is alive.
sed '/^$/d' "$trail.new" >>"$trail"
rm "$trail.new"
