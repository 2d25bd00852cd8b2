"""A guest with heat-cfntools: it starts with the user data that its server was made with, in
directories of its own, and goes on with what those say of the API."""
import base64
import pathlib
import subprocess
import sys

# The tools know their places by name: each of these is the guest's own.
PLACES = ['etc', 'opt', 'var/cache', 'var/lib', 'var/log']
# What of the host's programs need.
KEPT = ['group', 'hosts', 'ld.so.cache', 'nsswitch.conf', 'passwd']
WITHIN_SECS = 60


class Guest:
    def __init__(self, directory, programs):
        self.root = directory / 'guest'
        self.programs = programs
        for place in PLACES:
            (self.root / place).mkdir(parents=True)
        for name in KEPT:
            if (host := pathlib.Path('/etc', name)).exists():
                (self.root / 'etc' / name).write_bytes(host.read_bytes())

    def run(self, *command):
        mounts = [f'mount --bind {self.root / place} /{place}' for place in PLACES]
        done = subprocess.run(
            ['unshare', '--map-root-user', '--mount', 'sh', '-c', '\n'.join(
                ['set -e', *mounts, 'exec "$0" "$@"']), *command],
            capture_output=True, text=True, timeout=WITHIN_SECS, check=False)
        if done.returncode:
            logs = [path.read_text() for path in (self.root / 'var/log').iterdir()]
            sys.exit('\n'.join([f'{command} ended with {done.returncode}',
                                done.stdout, done.stderr, *logs]))

    def start(self, user_data):
        (self.root / 'opt/user-data').write_bytes(base64.b64decode(user_data))
        cloudinit = pathlib.Path(__file__).with_name('cloudinit.py')
        self.run(sys.executable, cloudinit, '/opt/user-data')

    def follow(self, stack, key):
        """Settings for cfn-hup, which notes that the metadata are other ones."""
        settings = self.root / 'etc/cfn'
        (settings / 'hooks.d').mkdir(parents=True)
        (settings / 'cfn-credentials').write_text(
            f'AWSAccessKeyId={key["access"]}\nAWSSecretKey={key["secret"]}\n')
        (settings / 'cfn-hup.conf').write_text(
            f'[main]\nstack={stack}\ncredential-file=/etc/cfn/cfn-credentials\nregion=heat\n')
        (settings / 'hooks.d/changed').write_text(
            '[changed]\ntriggers=post.update\npath=Resources.guest.Metadata\nrunas=root\n'
            f'action={self.programs / "cfn-init"} -s {stack} -r guest'
            f' --access-key {key["access"]} --secret-key {key["secret"]}\n')

    def hear(self):
        self.run(self.programs / 'cfn-hup', '--no-daemon')

    def has(self, name):
        path = self.root / 'var/lib' / name
        return path.read_text(encoding='utf-8') if path.exists() else None
