"""schemathesis, unmodified, against the description that Hearth gives of its own routes: whatever it
asks, nothing is answered that is an internal error or is not described, most of what it asks is
done, and what is described is read."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import ground
from processes import Server

# For all that it tries, however many routes there are.
SECS = 80
EXAMPLES_OF_A_ROUTE = 15
CHECKS = ['not_a_server_error', 'status_code_conformance', 'content_type_conformance',
          'response_schema_conformance']
# How much of what may be done is done at least, by verb: a third of it is left as it is made up.
DONE = {'GET': 0.55, 'POST': 0.6, 'PUT': 0.55, 'PATCH': 0.6, 'DELETE': 0.6}
# How often a route, and a verb, is tried before that says anything: a busy machine comes to less.
TRIED = 3
ASKED = 20
# What the user who asks may not: it is an operator's.
FORBIDDEN = [('GET', '/services')]


def ask(url, body=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers={'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers, json.load(answer)


def sign_in(keystone):
    """A token of the user `demo`, and the project's id."""
    domain = {'name': 'Default'}
    headers, body = ask(f'{keystone}/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': 'demo', 'domain': domain, 'password': 'secret'}}},
        'scope': {'project': {'name': 'demo', 'domain': domain}}}})
    return headers['X-Subject-Token'], body['token']['project']['id']


def of_project(description, project):
    """The description of what is one project's: in others' hardly anything would be answered. A
    feed has no end, so that it is left out."""
    paths = {}
    for path, operations in description['paths'].items():
        if path.endswith('/feed'):
            continue
        for operation in operations.values():
            named = operation['parameters']
            operation['parameters'] = [it for it in named if it['name'] != 'project']
        paths[path.replace('{project}', project)] = operations
    return {**description, 'paths': paths}


def operations(description, project):
    """Each route by its verb and its path below the project."""
    for path, of_path in description['paths'].items():
        for verb, operation in of_path.items():
            yield verb.upper(), path.removeprefix(f'/{project}'), operation


def too_little_is_done(routes, answers):
    """What is answered too seldom with 2xx: routes never, and verbs."""
    asked, done = {}, {}
    for line in answers.read_text().splitlines():
        verb, path, status, mode = line.split(' ')
        # The others are made to be refused.
        if mode == 'positive':
            asked.setdefault((verb, path), []).append(status[0] == '2')
    for verb, path, operation in routes:
        # Some routes only lead on.
        if (verb, path) in FORBIDDEN or not any(it[0] == '2' for it in operation['responses']):
            continue
        answered = asked.get((verb, path), [])
        done.setdefault(verb, []).extend(answered)
        if len(answered) >= TRIED and not any(answered):
            yield f'{verb} {path}: nothing of {len(answered)} is done'
    for verb, answered in done.items():
        if not answered:
            yield f'{verb}: nothing is asked'
            continue
        share = sum(answered) / len(answered)
        print(f'openapi: {share:.0%} of {len(answered)} are done by {verb}')
        if len(answered) >= ASKED and share < DONE[verb]:
            yield f'{verb}: {share:.0%} is done, and {DONE[verb]:.0%} is to be'


def is_refused(there, verb, path, body=None):
    try:
        there.ask(verb, path, body)
    except ground.Refused as refused:
        return refused.status == 400
    return False


def what_is_not_read(there, routes, schemas):
    """What is described and not read: a value that cannot be is not refused."""
    for verb, path, operation in routes:
        body = there.body(verb, path, {}, False) if 'requestBody' in operation else None
        named = there.path_of(verb, path)
        for it in operation['parameters']:
            is_free = it['schema']['type'] in ('string', 'array') and 'enum' not in it['schema']
            if it['in'] == 'query' and not is_free:
                if not is_refused(there, verb, f'{named}?{it["name"]}=perhaps', body):
                    yield f'{verb} {path}?{it["name"]}'
        if body is None or 'template' not in body:
            continue
        schema = operation['requestBody']['content']['application/json']['schema']
        for name, member in schemas[schema['$ref'].rsplit('/', 1)[1]]['properties'].items():
            wrong = [1] if member.get('type') == 'integer' else 1
            # Beside a template its address is not looked at.
            if name != 'template_url' and not is_refused(there, verb, named, {**body, name: wrong}):
                yield f'{verb} {path}: {name}'


def main(binary):
    # As many stacks as are tried.
    os.environ['HEARTH_DEFAULT__MAX_STACKS_PER_TENANT'] = '-1'
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        server = Server(binary, directory, False)
        try:
            token, project = sign_in(server.auth_url)
            api = f'http://127.0.0.1:{server.port}/v1'
            _, description = ask(f'{api}/openapi.json')
            if len(description['paths']) < 20:
                sys.exit('the description has lost its routes')
            described = of_project(description, project)
            routes = list(operations(described, project))
            there = ground.Ground(api, project, token)
            schemas = description['components']['schemas']
            if unread := list(what_is_not_read(there, routes, schemas)):
                sys.exit('openapi: described and not read: ' + ', '.join(unread))
            file = directory / 'openapi.json'
            file.write_text(json.dumps(described))
            answers = directory / 'answers'
            answers.touch()
            told = {'api': api, 'project': project, 'token': token, 'answers': str(answers)}
            tried = subprocess.run(
                [pathlib.Path(sys.executable).with_name('schemathesis'), 'run', file, '--url', api,
                 '--header', f'X-Auth-Token: {token}', '--checks', ','.join(CHECKS),
                 '--phases', 'examples,coverage,fuzzing', '--max-examples', str(EXAMPLES_OF_A_ROUTE),
                 '--max-time', str(SECS), '--max-redirects', '0', '--no-color', '--seed', '1',
                 '--generation-database', 'none', '--warnings', 'off'],
                cwd=directory, text=True,
                env={**os.environ, 'HEARTH_GROUND': json.dumps(told),
                     'SCHEMATHESIS_HOOKS': ground.__file__},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            undone = list(too_little_is_done(routes, answers))
        finally:
            server.process.kill()
            server.process.wait()
    if tried.returncode != 0:
        sys.exit(f'{tried.stdout}\nopenapi: what is answered is not what is described')
    if undone:
        sys.exit('openapi: ' + '; '.join(undone))
    print('openapi: what is answered is described, whatever schemathesis asks')


main(pathlib.Path(sys.argv[1]).resolve())
