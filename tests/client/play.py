"""Plays transcripts of the real client against `hearth serve` and compares what it prints.

A journey is a file under journeys/: lines that start with `$ ` are run by bash, the lines after
one are what it must print, and `[1]` at their end is its exit status where that is not 0.
A journey of a team, teams/NAME/journey.txt beside its templates, has its cloud in a process of
its own and two more kinds of steps.
Lines that start with `(openstack) ` are for the client's own interactive mode, which starts once.
Lines that start with `! ` are for this program:
  hold METHOD PATH [SKIP]  the next call that fits (PATH is a regular expression) waits for ever
  lose METHOD PATH [SKIP]  the next call that fits is carried out, and its answer lost
  crash                    once these have met their calls: kill -9, then start again
  set NAME COMMAND         what the client prints for the command is $NAME in later steps
  await COMMAND            the client's command is repeated until it prints what it must
  audit                    waits until all stacks are at rest; the cloud must hold what they say,
                           no more and no less, and `hearth verify` must prove the log
What differs from run to run is written as <uuid>, <time>, <port>, …; a line `...` stands for any
number of lines. UPDATE_GOLDEN=1 writes down what was printed instead; review the difference.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from audit import Audit
from processes import COMMAND_WITHIN_SECS, Client, Server

HERE = pathlib.Path(__file__).resolve().parent
# Programs of their own, which are played as the journeys are, and by which Python.
PROGRAMS = {name: sys.executable for name in ('openapi', 'sdks', 'cfn', 'watch', 'readme')}
PROGRAMS['agents'] = pathlib.Path(sys.prefix) / 'agents' / 'bin' / 'python'
# What takes longest comes first.
LONGEST = ('cloud', 'cancel')
PROMPTS = ('$ ', '(openstack) ', '! ')
AWAIT_SECS = 30
AWAIT_EVERY_SECS = 0.2

# What differs from run to run, and what is written in its place.
VARYING = [
    (re.compile(r'req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), '<request>'),
    (re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), '<uuid>'),
    (re.compile(r'\b[0-9a-f]{32}\b'), '<hex>'),
    (re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?'), '<time>'),
    (re.compile(r'127\.0\.0\.1:\d{4,5}'), '127.0.0.1:<port>'),
    (re.compile(r'-[a-z2-7]{12}\b'), '-<suffix>'),
]


def read(path):
    """The steps of a journey: (comment lines before, prompt, command, expected lines)."""
    steps, before = [], []
    for line in path.read_text().splitlines():
        prompt = next((prompt for prompt in PROMPTS if line.startswith(prompt)), None)
        if prompt:
            steps.append((before, prompt, line[len(prompt):], []))
            before = []
        elif line.startswith('# '):
            before.append(line)
        elif steps and not before:
            steps[-1][3].append(line)
    for step in steps:
        trim(step[3])
    return steps, before


def trim(lines):
    """Takes empty lines off the end: they only part one step from the next."""
    while lines and not lines[-1]:
        lines.pop()


def lines_of(text):
    """The lines without what differs from run to run."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    lines = [line.rstrip() for line in text.splitlines()]
    trim(lines)
    return lines


class Stage:
    """What the steps of one journey are played on."""

    def __init__(self, binary, path, home):
        self.is_team = path.parent.parent.name == 'teams'
        self.directory = HERE
        if self.is_team:
            # A copy, beside which the client may write.
            self.directory = pathlib.Path(shutil.copytree(path.parent, home / 'team'))
        self.server = Server(binary, home, has_cloud_beside=self.is_team)
        self.environment = {
            'PATH': f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}',
            'HOME': str(home), 'LANG': 'C.UTF-8', 'COLUMNS': '100', 'PYTHONWARNINGS': 'ignore',
            'OS_CLIENT_CONFIG_FILE': str(self.server.data / 'clouds.yaml'), 'OS_CLOUD': 'hearth',
            'EXAMPLES': str(HERE.parents[1] / 'examples'),
            'TEMPLATES': str(HERE / 'templates'),
            'HEARTH': os.path.abspath(binary), 'HEARTH_DATA': str(self.server.data),
            'API': f'http://127.0.0.1:{self.server.port}',
        }
        self.kept = {}
        self.sessions = set()
        self.client = Client(self.environment, self.directory) if self.is_team else None
        self.audit = Audit(binary, self.server.data) if self.is_team else None

    def play(self, prompt, command, fits):
        """What the step prints; `fits` tells whether that is what it must print."""
        for name, value in self.kept.items():
            command = command.replace(name, value)
        if prompt == '(openstack) ':
            return lines_of(self.client.say(command))
        if prompt == '! ':
            return self._do(command, fits)
        return self._run(command)

    def _run(self, command):
        """By bash; an exit status that is not 0 stands at the end."""
        bash = subprocess.Popen(
            ['bash', '-c', command], env=self.environment, cwd=self.directory, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.sessions.add(bash.pid)
        printed, _ = bash.communicate(timeout=COMMAND_WITHIN_SECS)
        lines = lines_of(printed)
        if bash.returncode:
            lines.append(f'[{bash.returncode}]')
        return lines

    def _do(self, command, fits):
        match command.split():
            case ['hold', *call]:
                self.server.cloud.hold(*call)
            case ['lose', *call]:
                self.server.cloud.lose(*call)
            case ['crash']:
                return self.server.crash()
            case ['set', name, *_]:
                said = self.client.say(command.split(maxsplit=2)[2])
                self.kept[f'${name}'] = said.strip()
            case ['await', *_]:
                return self._await(command.removeprefix('await '), fits)
            case ['audit']:
                told = self.audit.lines(lambda lines: fits(lines_of('\n'.join(lines))))
                return lines_of('\n'.join(told))
            case _:
                return [f'{command}: no such step']
        return []

    def _await(self, command, fits):
        end = time.monotonic() + AWAIT_SECS
        while True:
            lines = lines_of(self.client.say(command))
            if fits(lines) or time.monotonic() > end:
                return lines
            time.sleep(AWAIT_EVERY_SECS)

    def left(self):
        """The commands in the background that do not come to an end."""
        end = time.monotonic() + AWAIT_SECS
        while (left := commands_of(self.sessions)) and time.monotonic() < end:
            time.sleep(AWAIT_EVERY_SECS)
        return list(left.values())

    def end(self):
        for process in commands_of(self.sessions):
            os.kill(process, signal.SIGKILL)
        if self.client:
            self.client.end()
        self.server.stop()


def commands_of(sessions):
    """The command line of each process at work in these sessions, by its id."""
    found = {}
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            # After the name in brackets: state, parent, group, session.
            state, _, _, session = (process / 'stat').read_text().rpartition(')')[2].split()[:4]
            command = (process / 'cmdline').read_text().replace('\0', ' ').strip()
        except OSError:
            continue  # It has ended meanwhile.
        if int(session) in sessions and state != 'Z':
            found[int(process.name)] = command
    return found


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
        stage = Stage(binary, path, pathlib.Path(name))
        try:
            while steps:
                before, prompt, command, expected = steps.pop(0)
                printed = stage.play(prompt, command, lambda lines: matches(expected, lines))
                fine = matches(expected, printed)
                if not fine:
                    wrong += 1
                    show(path, prompt + command, expected, printed)
                kept = expected if fine or not rewrite else printed
                written += before + [prompt + command] + kept + ['']
                if printed and command == 'crash':
                    # What follows is about a life that took another way.
                    break
            left = stage.left()
            wrong += len(left)
            for command in left:
                print(f'{name_of(path)}: still at work: {command}')
        finally:
            stage.end()
    for before, prompt, command, expected in steps:
        written += before + [prompt + command] + expected + ['']
    if rewrite and wrong:
        path.write_text('\n'.join(written + after).rstrip() + '\n')
    return wrong


def show(path, step, expected, printed):
    print(f'{name_of(path)}: {step}')
    for line in expected:
        print(f'  expected: {line}')
    for line in printed:
        print(f'  printed:  {line}')


def name_of(path):
    return path.parent.name if path.name == 'journey.txt' else path.stem


def program(binary, name):
    """Runs a program of this directory; 1 where it failed."""
    ran = subprocess.run(
        [PROGRAMS[name], HERE / f'{name}.py', binary], text=True, errors='replace',
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(ran.stdout, end='', flush=True)
    return int(ran.returncode != 0)


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    rewrite = os.environ.get('UPDATE_GOLDEN') == '1'
    journeys = [*HERE.glob('teams/*/journey.txt'), *HERE.glob('journeys/*.txt')]
    journeys = {name_of(path): path for path in journeys}

    def timed(name):
        start = time.monotonic()
        if name in PROGRAMS:
            wrong, verdict = program(binary, name), 'failed'
        else:
            wrong = journey(binary, journeys[name], rewrite)
            verdict = f'{wrong} steps differ'
        verdict = verdict if wrong else 'ok'
        print(f'{name}: {verdict} ({time.monotonic() - start:.0f} s)', flush=True)
        return wrong

    every = [*LONGEST, *PROGRAMS, *sorted(journeys)]
    if unknown := set(names).difference(every):
        sys.exit(f'no journey is named {", ".join(sorted(unknown))}')
    names = [name for name in dict.fromkeys(every) if not names or name in names]
    # Each has a server of its own, and waits now and then.
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() + 1) as pool:
        failed = sum(pool.map(timed, names))
    sys.exit(1 if failed and not rewrite else 0)


main()
