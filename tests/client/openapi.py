"""schemathesis, unmodified, against the description that Hearth gives of its own routes: whatever it
asks, nothing is answered that is an internal error or is not described."""
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from processes import Server

# For all that it tries, however many routes there are.
SECS = 60
EXAMPLES_OF_A_ROUTE = 15
CHECKS = ['not_a_server_error', 'status_code_conformance', 'content_type_conformance',
          'response_schema_conformance']


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


def main(binary):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        server = Server(binary, directory, False)
        try:
            token, project = sign_in(server.auth_url)
            api = f'http://127.0.0.1:{server.port}/v1'
            _, description = ask(f'{api}/openapi.json')
            if len(description['paths']) < 20:
                sys.exit('the description has lost its routes')
            file = directory / 'openapi.json'
            file.write_text(json.dumps(of_project(description, project)))
            tried = subprocess.run(
                [pathlib.Path(sys.executable).with_name('schemathesis'), 'run', file, '--url', api,
                 '--header', f'X-Auth-Token: {token}', '--checks', ','.join(CHECKS),
                 '--phases', 'examples,coverage,fuzzing', '--max-examples', str(EXAMPLES_OF_A_ROUTE),
                 '--max-time', str(SECS), '--max-redirects', '0', '--no-color', '--seed', '1',
                 '--generation-database', 'none', '--warnings', 'off'],
                cwd=directory, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        finally:
            server.process.kill()
            server.process.wait()
    if tried.returncode != 0:
        sys.exit(f'{tried.stdout}\nopenapi: what is answered is not what is described')
    print('openapi: what is answered is described, whatever schemathesis asks')


main(pathlib.Path(sys.argv[1]).resolve())
