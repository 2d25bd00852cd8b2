"""Plays transcripts of the real client against `hearth serve` and compares what it prints.

A journey is a file under journeys/: lines that start with `$ ` are run by bash, the lines after
one are what it must print, and `[1]` at their end is its exit status where that is not 0.
What differs from run to run is written as <uuid>, <time>, <port>, …; a line `...` stands for any
number of lines. UPDATE_GOLDEN=1 writes down what was printed instead; review the difference.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
READY_WITHIN_SECS = 10
COMMAND_WITHIN_SECS = 120

# What differs from run to run, and what is written in its place.
VARYING = [
    (re.compile(r'req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), '<request>'),
    (re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), '<uuid>'),
    (re.compile(r'\b[0-9a-f]{32}\b'), '<hex>'),
    (re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?'), '<time>'),
    (re.compile(r'127\.0\.0\.1:\d{4,5}'), '127.0.0.1:<port>'),
    (re.compile(r'-[a-z2-7]{12}\b'), '-<suffix>'),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """`hearth serve` on free ports, with its data in a directory of its own."""

    def __init__(self, binary, directory):
        self.data = directory / 'hearth-data'
        self.port = free_port()
        self.log = directory / 'hearth.log'
        self.process = subprocess.Popen(
            [binary, 'serve', '--data', self.data,
             '--listen', f'127.0.0.1:{self.port}',
             '--sandbox-listen', f'127.0.0.1:{free_port()}'],
            stdout=self.log.open('w'), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def wait_until_ready(self):
        end = time.monotonic() + READY_WITHIN_SECS
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as probe:
                if not probe.connect_ex(('127.0.0.1', self.port)):
                    return
            time.sleep(0.05)
        sys.exit(f'hearth is not ready:\n{self.log.read_text()}')

    def stop(self):
        """Ends it as an operator does; it must go in good order."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=20)
        if code != 0:
            sys.exit(f'hearth ended with {code}:\n{self.log.read_text()}')


def read(path):
    """The steps of a journey: (comment lines before, command, expected lines)."""
    steps, before = [], []
    for line in path.read_text().splitlines():
        if line.startswith('$ '):
            steps.append((before, line[2:], []))
            before = []
        elif line.startswith('# '):
            before.append(line)
        elif steps and not before:
            steps[-1][2].append(line)
    for step in steps:
        trim(step[2])
    return steps, before


def trim(lines):
    """Takes empty lines off the end: they only part one step from the next."""
    while lines and not lines[-1]:
        lines.pop()


def play(command, environment, directory):
    """What the command prints, with its exit status at the end where that is not 0."""
    done = subprocess.run(
        ['bash', '-c', command], env=environment, cwd=directory, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=COMMAND_WITHIN_SECS)
    text = done.stdout
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    lines = [line.rstrip() for line in text.splitlines()]
    trim(lines)
    if done.returncode:
        lines.append(f'[{done.returncode}]')
    return lines


def matches(expected, printed):
    """Whether the lines agree; `...` stands for any number of them."""
    if not expected:
        return not printed
    if expected[0] == '...':
        return any(matches(expected[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and matches(expected[1:], printed[1:])


def journey(binary, path, rewrite):
    """Plays one journey on a server of its own; the number of steps that went wrong."""
    steps, after = read(path)
    wrong, written = 0, []
    with tempfile.TemporaryDirectory(prefix='hearth-client-') as name:
        directory = pathlib.Path(name)
        server = Server(binary, directory)
        try:
            server.wait_until_ready()
            environment = {
                'PATH': f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}',
                'HOME': name, 'LANG': 'C.UTF-8', 'COLUMNS': '100', 'PYTHONWARNINGS': 'ignore',
                'OS_CLIENT_CONFIG_FILE': str(server.data / 'clouds.yaml'), 'OS_CLOUD': 'hearth',
                'EXAMPLES': str(HERE.parents[1] / 'examples'),
                'TEMPLATES': str(HERE / 'templates'),
                'HEARTH': os.path.abspath(binary), 'HEARTH_DATA': str(server.data),
                'API': f'http://127.0.0.1:{server.port}',
            }
            for before, command, expected in steps:
                printed = play(command, environment, HERE)
                fine = matches(expected, printed)
                if not fine:
                    wrong += 1
                    show(path, command, expected, printed)
                kept = expected if fine or not rewrite else printed
                written += before + [f'$ {command}'] + kept + ['']
        finally:
            server.stop()
    if rewrite and wrong:
        path.write_text('\n'.join(written + after).rstrip() + '\n')
    return wrong


def show(path, command, expected, printed):
    print(f'{path.name}: $ {command}')
    for line in expected:
        print(f'  expected: {line}')
    for line in printed:
        print(f'  printed:  {line}')


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    rewrite = os.environ.get('UPDATE_GOLDEN') == '1'

    def timed(path):
        start = time.monotonic()
        wrong = journey(binary, path, rewrite)
        verdict = 'ok' if not wrong else f'{wrong} steps differ'
        print(f'{path.stem}: {verdict} ({time.monotonic() - start:.0f} s)', flush=True)
        return wrong

    paths = [path for path in sorted((HERE / 'journeys').glob('*.txt'))
             if not names or path.stem in names]
    # Each has a server of its own, and a client spends its time starting.
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        failed = sum(pool.map(timed, paths))
    sys.exit(1 if failed and not rewrite else 0)


main()
