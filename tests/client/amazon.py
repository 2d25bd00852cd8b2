"""What the journeys of Amazon's clients share: a key, and what is expected."""
import json
import sys
import urllib.request


def ask(method, url, body=None, token=None):
    headers = {'Content-Type': 'application/json', **({'X-Auth-Token': token} if token else {})}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, method=method, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers, json.load(answer)


def key(keystone):
    """A key of the user `demo`."""
    domain = {'name': 'Default'}
    headers, body = ask('POST', f'{keystone}/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': 'demo', 'domain': domain, 'password': 'secret'}}},
        'scope': {'project': {'name': 'demo', 'domain': domain}}}})
    token = body['token']
    url = f'{keystone}/users/{token["user"]["id"]}/credentials/OS-EC2'
    _, made = ask('POST', url, {'tenant_id': token['project']['id']}, headers['X-Subject-Token'])
    return made['credential']['access'], made['credential']['secret']


def expect(seen, wanted):
    if seen != wanted:
        sys.exit(f'{seen!r}, where {wanted!r} was expected')
