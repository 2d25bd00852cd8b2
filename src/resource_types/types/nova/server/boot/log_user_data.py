#!/usr/bin/env python3
# Runs the user's own part once, logs what it says, and notes it when all went well.
import datetime
import errno
import os
import subprocess
import sys

PLACE = '/var/lib/heat-cfntools'
SCRIPT = os.path.join(PLACE, 'cfn-userdata')


def run(log):
    """The status that the script ends with; one that is no program has nothing to do."""
    os.chmod(SCRIPT, 0o700)
    try:
        return subprocess.call([SCRIPT], stdout=log, stderr=subprocess.STDOUT)
    except OSError as error:
        log.write('The user data is empty or no program: %s\n' % error)
        return os.EX_OK if error.errno == errno.ENOEXEC else os.EX_OSERR


with open('/var/log/heat-provision.log', 'a', buffering=1) as log:
    os.chmod(log.name, 0o600)
    log.write('Provision began: %s\n' % datetime.datetime.now())
    status = run(log)
    log.write('Provision done: %s\n' % datetime.datetime.now())
    if status:
        log.write('Provision failed with exit code %s\n' % status)
        sys.exit(status if status > 0 else os.EX_SOFTWARE)
open(os.path.join(PLACE, 'provision-finished'), 'a').close()
