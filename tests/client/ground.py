"""A project with something of every kind in it, for what asks at random: most of its calls go to what
is there, and what a call changes or deletes is made for it.

It is also the module of hooks that schemathesis loads: `HEARTH_GROUND` says where the API is, and
whose the project, and names the file that takes a line for every answer."""
import datetime
import json
import os
import threading
import time
import urllib.error
import urllib.request
import uuid

import schemathesis

SETTLED_WITHIN_SECS = 30
# Nobody is there to be told.
HOOK = 'https://hooks.example.invalid/told'
TEMPLATE = {
    'heat_template_version': '2018-08-31',
    'parameters': {'length': {'type': 'number', 'default': 8}},
    'resources': {
        'word': {'type': 'OS::Heat::RandomString',
                 'properties': {'length': {'get_param': 'length'}}},
        'handle': {'type': 'OS::Heat::WaitConditionHandle'},
        'none': {'type': 'OS::Heat::None', 'depends_on': 'word'}},
    'outputs': {'word': {'value': {'get_attr': ['word', 'value']}}}}
# What is not refused whatever else a definition says.
HANDLED = ['timeout_mins', 'disable_rollback', 'tags', 'converge']
STACK = '/stacks/{name}/{id}'
# Under a stack, what leaves it as it is.
LOOKS = ['/preview', '/plan']


class Refused(Exception):
    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class Ground:
    def __init__(self, api, project, token):
        self.url = f'{api}/{project}'
        self.token = token
        self.changed = self.stack()
        self.config = self.made('/software_configs', 'software_config', {'name': 'script'})['id']
        stack = self.stack()
        events = self.ask('GET', f'{self.path(stack)}/resources/word/events')['events']
        self.known = {
            **stack, 'resource': 'word', 'event': events[0]['id'], 'output': 'word',
            'snapshot': self.snapshot_of(stack), 'config': self.config, 'server': 's1',
            'deployment': self.deployment(), 'webhook': self.webhook(),
            'type': 'OS::Heat::RandomString', 'version': 'heat_template_version.2018-08-31'}
        self.stood = datetime.datetime.now(datetime.timezone.utc).isoformat()

    def ask(self, verb, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        headers = {'X-Auth-Token': self.token, 'Content-Type': 'application/json'}
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(f'{verb} {path}: {error.code} {error.read()}', error.code) from error
        return json.loads(text) if text else None

    def made(self, path, key, body):
        return self.ask('POST', path, body)[key]

    def deployment(self):
        body = {'config_id': self.config, 'server_id': 's1'}
        return self.made('/software_deployments', 'software_deployment', body)['id']

    def webhook(self):
        return self.made('/webhooks', 'webhook', {'url': HOOK})['id']

    def path(self, stack):
        return f'/stacks/{stack["name"]}/{stack["id"]}'

    def stack(self):
        """A stack that is complete."""
        name = fresh_name()
        id = self.made('/stacks', 'stack', {'stack_name': name, 'template': TEMPLATE})['id']
        stack = {'name': name, 'id': id}
        self.settled(lambda: self.ask('GET', self.path(stack))['stack']['stack_status'])
        return stack

    def changeable(self):
        """A stack of which something can be asked now: the same as long as that is so."""
        def status():
            return self.ask('GET', self.path(self.changed))['stack']['stack_status']
        try:
            self.settled(status)
            if status().startswith('SUSPEND'):
                self.changed = self.stack()
        except (Refused, RuntimeError):
            self.changed = self.stack()
        return self.changed

    def settled(self, status):
        """Waits until something is complete."""
        end = time.monotonic() + SETTLED_WITHIN_SECS
        while not (now := status()).endswith('COMPLETE'):
            if now.endswith('FAILED') or time.monotonic() > end:
                raise RuntimeError(f'it is {now}')
            time.sleep(0.01)

    def snapshot_of(self, stack):
        taken = self.ask('POST', f'{self.path(stack)}/snapshots', {})['id']
        self.settled(lambda: self.ask('GET', self.path(stack))['stack']['stack_status'])
        return taken

    def path_of(self, verb, path):
        """A path to what is there."""
        for name, value in self.names(verb, path).items():
            path = path.replace(f'{{{name}}}', value)
        return path

    def names(self, verb, path):
        """What the parts of a path are called that is there, made anew where it will be changed."""
        names = dict(self.known)
        if path.startswith(STACK):
            below = path.removeprefix(STACK)
            if verb == 'POST' and not below:
                # It leads on.
                names['id'] = 'actions'
            elif verb == 'DELETE':
                names |= self.stack()
            elif verb != 'GET' and below not in LOOKS:
                names |= self.changeable()
            if verb != 'GET' and '{snapshot}' in below:
                names['snapshot'] = self.snapshot_of(names)
            if below.endswith('/signal'):
                names['resource'] = 'handle'
        elif verb == 'DELETE' and path == '/software_configs/{config}':
            names['config'] = self.made('/software_configs', 'software_config', {})['id']
        elif verb == 'DELETE' and path == '/software_deployments/{deployment}':
            names['deployment'] = self.deployment()
        elif verb == 'DELETE' and path == '/webhooks/{webhook}':
            names['webhook'] = self.webhook()
        return names

    def body(self, verb, path, body, keep):
        """A body that the API takes: what has to be in it over a generated one, of which a
        definition keeps all or what is never refused."""
        body = dict(body)
        kept = [name for name in body if name != 'adopt_stack_data' and (keep or name in HANDLED)]
        defined = {**{name: body[name] for name in kept}, 'template': TEMPLATE}
        if verb == 'POST' and path in ('/stacks', '/stacks/preview', '/stacks/plan'):
            body = {**defined, 'stack_name': fresh_name()}
            body.pop('converge', None)
        elif path == '/validate':
            body = defined
        elif verb in ('PUT', 'PATCH') and path in (STACK, f'{STACK}/preview'):
            body = defined
        elif path == f'{STACK}/plan':
            body = next(PLANS)
        elif path == f'{STACK}/actions':
            body = next(ACTIONS)
        elif path == '/software_deployments':
            body.pop('stack_user_project_id', None)
            body['config_id'] = self.config
        elif path == '/software_deployments/{deployment}':
            body.pop('config_id', None)
        elif path == '/webhooks':
            body.pop('stack', None)
            body['url'] = HOOK
        return body


def fresh_name():
    return f's{uuid.uuid4().hex}'


def in_turn(*choices):
    while True:
        yield from choices


PLANS = in_turn({'update': {'template': TEMPLATE}}, {'patch': {}}, {'rollback': {'to': 1}},
                {'delete': {}}, {'suspend': None})
ACTIONS = in_turn({'check': None}, {'suspend': None}, {'rollback': {'to': 1, 'plan': True}},
                  {'repair': None})


class Turns:
    """Of every three calls of a route one is left as it was generated; of the two others, one keeps
    whatever a body says beside what it has to say."""

    def __init__(self):
        self.calls = {}
        self.lock = threading.Lock()

    def next(self, route):
        with self.lock:
            self.calls[route] = self.calls.get(route, -1) + 1
            return self.calls[route] % 3


if 'HEARTH_GROUND' in os.environ:
    told = json.loads(os.environ['HEARTH_GROUND'])
    ground = Ground(told['api'], told['project'], told['token'])
    turns = Turns()
    answers = open(told['answers'], 'a', buffering=1)

    def route(case):
        return case.method.upper(), case.operation.path.removeprefix(f'/{told["project"]}')

    @schemathesis.hook
    def before_call(context, case, kwargs):
        verb, path = route(case)
        # What a route does not take is not tried on what is there.
        if verb != case.operation.method.upper():
            return
        turn = turns.next((verb, path))
        # What was shown is tried again elsewhere, and would be deleted.
        meets = set(case.path_parameters.values()) & set(ground.known.values())
        if turn == 2 and (verb == 'GET' or not meets):
            return
        for name, value in ground.names(verb, path).items():
            if f'{{{name}}}' in path:
                case.path_parameters[name] = value
        for name in ('If-Match', 'Hearth-Plan', 'Idempotency-Key'):
            case.headers.pop(name, None)
        for name in ('at', 'global_tenant', 'ignore_errors', 'marker'):
            case.query.pop(name, None)
        if turn == 1 and any(it.name == 'at' for it in case.operation.query):
            case.query['at'] = ground.stood
        if isinstance(case.body, dict):
            case.body = ground.body(verb, path, case.body, turn == 1)

    @schemathesis.hook
    def after_call(context, case, response):
        verb, path = route(case)
        mode = case.meta.generation.mode.value
        answers.write(f'{verb} {path} {response.status_code} {mode}\n')
        if (verb, path, response.status_code) == ('POST', '/webhooks', 200):
            # There may be a few of them only.
            ground.ask('DELETE', f'/webhooks/{response.json()["webhook"]["id"]}')
