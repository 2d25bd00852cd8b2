"""The processes that a journey plays against: Hearth, its cloud and the client."""
import atexit
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

READY_WITHIN_SECS = 60
HELD_WITHIN_SECS = 20
COMMAND_WITHIN_SECS = 120
# Longer than any journey: what is held is never carried out.
HELD_MILLIS = 3_600_000
# How long each slow thing takes in the cloud of a team.
CLOUD_LATENCY_MILLIS = 100


PORTS = itertools.count(10_000 + os.getpid() % 10_000)


def free_port():
    """One that stays free while its server is down: below those that the system gives away."""
    for port in PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
                return port
            except OSError:
                continue


# Stacks are given away and taken up again, and some are left out of lists.
SETTINGS = {'HEARTH_DEFAULT__ENABLE_STACK_ABANDON': 'true',
            'HEARTH_DEFAULT__ENABLE_STACK_ADOPT': 'true',
            'HEARTH_DEFAULT__HIDDEN_STACK_TAGS': 'quiet'}


def started(command, log, word):
    """The process, once it has said the word."""
    log.touch()
    said_before = log.stat().st_size
    process = subprocess.Popen(
        command, env={**os.environ, **SETTINGS},
        stdout=log.open('a'), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    atexit.register(process.kill)
    end = time.monotonic() + READY_WITHIN_SECS
    while time.monotonic() < end and process.poll() is None:
        if word in log.read_text()[said_before:]:
            return process
        time.sleep(0.05)
    process.kill()
    sys.exit(f'{command[1]} is not ready:\n{log.read_text()}')


class Cloud:
    """`hearth sandbox` as a process of its own, which lives on where Hearth is killed."""

    def __init__(self, binary, directory, hearth_url):
        self.port = free_port()
        self.process = started(
            [binary, 'sandbox', '--listen', f'127.0.0.1:{self.port}', '--hearth-url', hearth_url,
             '--latency', str(CLOUD_LATENCY_MILLIS)],
            directory / 'cloud.log', 'sandbox OpenStack on')

    def hold(self, method, path, skip=0):
        """The next call that fits, after so many, waits, and is never carried out."""
        self._order({'method': method, 'path': path, 'skip': int(skip), 'count': 1,
                     'latency_ms': HELD_MILLIS, 'fault': 'drop_request'})

    def lose(self, method, path, skip=0):
        """The next call that fits, after so many, is carried out, and its answer is lost."""
        self._order({'method': method, 'path': path, 'skip': int(skip), 'count': 1,
                     'fault': 'drop_reply'})

    def wait_until_met(self):
        end = time.monotonic() + HELD_WITHIN_SECS
        while time.monotonic() < end:
            if all(fault['met'] for fault in self._admin('GET')['faults']):
                return True
            time.sleep(0.02)
        return False

    def lift(self):
        self._admin('DELETE')

    def end(self):
        """It keeps nothing, so it need not end in good order."""
        self.process.kill()
        self.process.wait()

    def _order(self, rule):
        rules = [fault['rule'] for fault in self._admin('GET')['faults']]
        self._admin('PUT', rules + [rule])

    def _admin(self, method, body=None):
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.port}/admin/faults', method=method,
            data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


class Server:
    """`hearth serve` on free ports, with its data in a directory of its own.

    Its cloud is embedded, or, where it is to outlive Hearth, a process beside it."""

    def __init__(self, binary, directory, has_cloud_beside, cfn_address=None, watch_address=None):
        self.data = directory / 'hearth-data'
        self.port = free_port()
        self.cfn_port = free_port()
        self.watch_port = free_port()
        self.log = directory / 'hearth.log'
        self.cloud = None
        self.command = [binary, 'serve', '--data', self.data,
                        '--listen', f'127.0.0.1:{self.port}',
                        '--cfn-listen', cfn_address or f'127.0.0.1:{self.cfn_port}',
                        '--cloudwatch-listen',
                        watch_address or f'127.0.0.1:{self.watch_port}']
        if has_cloud_beside:
            self.cloud = Cloud(binary, directory, f'http://127.0.0.1:{self.port}')
            self.command += ['--sandbox', f'http://127.0.0.1:{self.cloud.port}/v3']
        else:
            keystone = f'127.0.0.1:{free_port()}'
            self.auth_url = f'http://{keystone}/v3'
            self.command += ['--sandbox-listen', keystone]
        self.process = started(self.command, self.log, '\nready\n')

    def crash(self):
        """Kills Hearth where the ordered faults have met their calls, and starts it again."""
        met = self.cloud.wait_until_met()
        self.process.kill()
        self.process.wait()
        self.cloud.lift()
        self.process = started(self.command, self.log, '\nready\n')
        return [] if met else ['the call that was to be met was not made']

    def stop(self):
        """Ends it as an operator does; it must go in good order."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=20)
        if self.cloud:
            self.cloud.end()
        if code != 0:
            sys.exit(f'hearth ended with {code}:\n{self.log.read_text()}')


class Client:
    """The client's own interactive mode: it starts once for many commands."""

    MARK = '-- that is all --'

    def __init__(self, environment, directory):
        self.process = subprocess.Popen(
            ['openstack'], env={**environment, 'PYTHONUNBUFFERED': '1'}, cwd=directory, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)

    def say(self, command):
        """What the client prints for the command."""
        self.process.stdin.write(f'{command}\n!echo "{self.MARK}"\n')
        self.process.stdin.flush()
        deadline = threading.Timer(COMMAND_WITHIN_SECS, self.process.kill)
        deadline.start()
        text = ''
        for line in self.process.stdout:
            before, mark, _ = line.partition(self.MARK)
            text += before
            if mark:
                deadline.cancel()
                return text
        sys.exit(f'the client has ended at: {command}\n{text}')

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()
