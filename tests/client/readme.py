"""Plays the README, top to bottom, in an empty directory: every command must succeed, none may
warn, and nothing may be left of the stacks at the end.

What takes too long or needs another machine is replaced: a build by the binary that is there, the
installation of the client by the virtual environment that is there, and the real cloud by a
sandbox that runs apart.
"""
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHIN_SECS = 180

HEAT_CONF = '''[keystone_authtoken]
www_authenticate_uri = {keystone}
auth_url = {keystone}
username = hearth
password = secret
project_name = service
user_domain_name = Default
project_domain_name = Default
'''

# How a server in the background is waited for.
WAIT = (r"until (exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /healthcheck HTTP/1.0\r\n\r\n' >&3;"
        r" grep -q '200 OK' <&3) 2>/dev/null; do sleep 0.1; done")


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def commands():
    """The lines of the console blocks that begin with `$ `, in their order."""
    blocks = re.findall(r'^```console\n(.*?)^```', (ROOT / 'README.md').read_text(), re.M | re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith('$ ')]


def played(command, api, conf):
    """A command of the README as it is played here; `None` is left out."""
    command = command.replace('cargo run --release --', 'hearth')
    if command == 'cargo test':
        return None  # That is where tests run, and not what they run.
    if command.startswith('python3 -m venv'):
        wanted = set(re.findall(r'python-\w+', command))
        listed = (ROOT / 'tests/client/requirements.txt').read_text()
        missing = [name for name in wanted if name not in listed]
        if missing:
            sys.exit(f'README: {missing} are not among the requirements of the tests')
        return f'ln -s {shlex.quote(sys.prefix)} venv'
    if command.startswith('hearth serve --cloud openstack'):
        command = command.replace('/etc/heat/heat.conf', str(conf))
        command = command.replace('/var/lib/hearth', str(conf.with_name('lib-hearth')))
        # It serves until it is stopped, which may come before it hears that in good order.
        return f'{command} & {api} && kill $! && {{ wait $! || [ $? -eq 143 ]; }}'
    if command.startswith('hearth serve'):
        return f'{command}\n{api}'
    if command == 'kill %1':
        # Nobody waits for a server that goes, but what comes next needs its directory.
        return f'{command} && wait %1'
    return command


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix='hearth-readme-') as name:
        directory = pathlib.Path(name)
        (directory / 'bin').mkdir()
        (directory / 'bin/hearth').symlink_to(binary)
        work = directory / 'empty'
        work.mkdir()
        (work / 'examples').symlink_to(ROOT / 'examples')
        cloud = free_port()
        conf = directory / 'heat.conf'
        conf.write_text(HEAT_CONF.format(keystone=f'http://127.0.0.1:{cloud}/v3'))
        real = subprocess.Popen([binary, 'sandbox', '--listen', f'127.0.0.1:{cloud}'],
                                stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        port = free_port()
        wait = WAIT.format(port=port)
        lines = ['set -euo pipefail', 'set -m']
        for command in commands():
            as_played = played(command, wait, conf)
            if as_played is not None:
                lines += [f'echo {shlex.quote("$ " + command)}', as_played]
        environment = {
            'PATH': f'{directory / "bin"}:{os.environ["PATH"]}', 'HOME': name, 'LANG': 'C.UTF-8',
            'PYTHONWARNINGS': 'ignore', 'HEARTH_LISTEN': f'127.0.0.1:{port}',
            'HEARTH_CFN_LISTEN': '127.0.0.1:0',
            'HEARTH_CLOUDWATCH_LISTEN': '127.0.0.1:0',
            'HEARTH_SANDBOX_LISTEN': f'127.0.0.1:{free_port()}',
        }
        start = time.monotonic()
        shell = subprocess.Popen(['bash', '-c', '\n'.join(lines)], env=environment, cwd=work,
                                 text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            said, _ = shell.communicate(timeout=WITHIN_SECS)
        finally:
            for job in subprocess.run(['ps', '-o', 'pid=', '-s', str(shell.pid)], text=True,
                                      stdout=subprocess.PIPE).stdout.split():
                os.kill(int(job), signal.SIGKILL)
            real.terminate()
            real.wait()
        wrong = [line for line in said.splitlines()
                 if 'FAILED' in line or re.search(r'\bwarning\b', line)]
        if shell.returncode or wrong:
            sys.exit(f'{said}\nREADME: exit code {shell.returncode}, {wrong}')
        print(f'README: ok ({time.monotonic() - start:.0f} s)')


main()
