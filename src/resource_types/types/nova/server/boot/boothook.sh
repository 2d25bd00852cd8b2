#!/bin/sh
# Runs early at every start: makes the places that later parts are put into, and the names in
# /opt/aws/bin by which templates call the tools, where those were installed without them.
for dir in /var/lib/cloud/data /var/lib/heat-cfntools; do
    [ -d "$dir" ] || mkdir -p -m 700 "$dir"
done
if command -v cfn-create-aws-symlinks > /dev/null; then
    cfn-create-aws-symlinks
fi
# What fails here is no reason to stop the server's start.
exit 0
