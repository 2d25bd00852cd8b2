"""Programs of guests, unmodified: os-collect-config fetches what there is to know by each of its
collectors, with the settings that its server's metadata give, cfn-signal tells that all is well, and cfn-init and cfn-hup do what
the metadata of a server say, as its user data told them to, and cfn-push-stats lets an alarm go off."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from guest import Guest
from processes import Server

WITHIN_SECS = 60
COLLECTORS = {'heat': 'POLL_SERVER_HEAT', 'cfn': 'POLL_SERVER_CFN',
              'request': 'POLL_TEMP_URL', 'zaqar': 'ZAQAR_MESSAGE'}


def ask(method, url, body=None, token=None, more=None):
    headers = {'Content-Type': 'application/json', **({'X-Auth-Token': token} if token else {}),
               **(more or {})}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, method=method, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read()
        return answer.headers, json.loads(text) if text.startswith(b'{') else None


def until(look):
    """What a look finds in the end."""
    end = time.monotonic() + WITHIN_SECS
    while not (seen := look()):
        if time.monotonic() > end:
            sys.exit('what was waited for has not come')
        time.sleep(0.1)
    return seen


def expect(seen, wanted):
    if seen != wanted:
        sys.exit(f'{seen!r}, where {wanted!r} was expected')


def template(resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def logged_in(auth_url, user):
    """A user's token and what Keystone says of it."""
    domain = {'name': 'Default'}
    headers, body = ask('POST', f'{auth_url}/auth/tokens', {'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': user, 'domain': domain, 'password': 'secret'}}},
        'scope': {'project': {'name': 'demo', 'domain': domain}}}})
    return headers['X-Subject-Token'], body['token']


class Heat:
    """The API as the user `demo`."""

    def __init__(self, server):
        self.auth_url = server.auth_url
        self.token, token = logged_in(server.auth_url, 'demo')
        self.url = f'http://127.0.0.1:{server.port}/v1/{token["project"]["id"]}'
        url = f'{server.auth_url}/users/{token["user"]["id"]}/credentials/OS-EC2'
        tenant = {'tenant_id': token['project']['id']}
        self.key = ask('POST', url, tenant, self.token)[1]['credential']

    def ask(self, method, path, body=None):
        return ask(method, f'{self.url}{path}', body, self.token)[1]

    def user_data(self, server):
        """What Nova tells administrators alone."""
        token, about = logged_in(self.auth_url, 'admin')
        compute = next(it for it in about['catalog'] if it['type'] == 'compute')
        shown = ask('GET', f'{compute["endpoints"][0]["url"]}/servers/{server}', None, token,
                    {'OpenStack-API-Version': 'compute 2.3'})[1]
        return shown['server']['OS-EXT-SRV-ATTR:user_data']

    def create(self, name, resources):
        body = {'stack_name': name, 'template': template(resources)}
        return f'/stacks/{name}/{self.ask("POST", "/stacks", body)["stack"]["id"]}'

    def status(self, stack):
        return self.ask('GET', stack)['stack']['stack_status']

    def settled(self, stack):
        return until(lambda: (status := self.status(stack)).endswith('_COMPLETE') and status)

    def delete(self, stack):
        self.ask('DELETE', stack)
        until(lambda: self.status(stack) == 'DELETE_COMPLETE')


def collected(programs, directory, collector, settings):
    """What os-collect-config prints of a collector."""
    path = directory / f'{collector}.conf'
    lines = [f'{name} = {value}' for name, value in settings.items() if value is not None]
    path.write_text('\n'.join(['[DEFAULT]', f'cachedir = {directory / "cache"}',
                               f'backup-cachedir = {directory / "backup"}',
                               f'[{collector}]', *lines, '']))
    done = subprocess.run(
        [programs / 'os-collect-config', '--one-time', f'--config-file={path}', collector],
        capture_output=True, text=True, timeout=WITHIN_SECS, check=False)
    return json.loads(done.stdout).get(collector, {}) if done.stdout else {}


def play_collector(heat, programs, directory, collector, transport):
    stack = heat.create(f'by-{collector}', {
        'guest': {'type': 'OS::Heat::DeployedServer',
                  'properties': {'software_config_transport': transport}},
        'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'config': 'echo hello'}},
        'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'config': {'get_resource': 'config'}, 'server': {'get_resource': 'guest'},
            'signal_transport': 'NO_SIGNAL'}},
    })
    expect(heat.settled(stack), 'CREATE_COMPLETE')
    metadata = heat.ask('GET', f'{stack}/resources/guest/metadata')['metadata']
    settings = metadata['os-collect-config'][collector]

    def deployed():
        found = collected(programs, directory, collector, settings)
        return found if found.get('deployments') else None

    found = until(deployed)
    expect(found['os-collect-config'], metadata['os-collect-config'])
    expect([it['config'] for it in found['deployments']], ['echo hello'])
    heat.delete(stack)


def play_signal(heat, programs):
    stack = heat.create('signaled', {
        'handle': {'type': 'AWS::CloudFormation::WaitConditionHandle'},
        'wait': {'type': 'AWS::CloudFormation::WaitCondition', 'properties': {
            'Handle': {'get_resource': 'handle'}, 'Timeout': WITHIN_SECS}},
        'address': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_resource': 'handle'}}},
    })
    address = until(lambda: handle_of(heat, stack))
    # The program keeps a log in /var/log: it gets one of its own.
    command = 'mount -t tmpfs tmpfs /var/log && exec "$0" --success true --id guest --data well "$1"'
    subprocess.run(['unshare', '--map-root-user', '--mount', 'sh', '-c', command,
                    programs / 'cfn-signal', address], timeout=WITHIN_SECS, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    expect(heat.settled(stack), 'CREATE_COMPLETE')
    shown = heat.ask('GET', f'{stack}/resources/wait')['resource']
    expect(json.loads(shown['attributes']['Data']), {'guest': 'well'})
    heat.delete(stack)


def play_start(heat, programs, directory):
    def server(said):
        files = {'/var/lib/told/here': {'content': said, 'mode': '000600'}}
        return {'guest': {
            'type': 'OS::Nova::Server',
            'metadata': {'AWS::CloudFormation::Init': {'config': {'files': files}}},
            'properties': {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [],
                           'user_data': f'#!/bin/sh\n# grüße →\n{programs / "cfn-init"}\n'},
        }}

    stack = heat.create('started', server('zuerst → grüße'))
    expect(heat.settled(stack), 'CREATE_COMPLETE')
    shown = heat.ask('GET', f'{stack}/resources/guest')['resource']
    guest = Guest(directory, programs)
    guest.start(heat.user_data(shown['physical_resource_id']))
    expect(guest.has('told/here'), 'zuerst → grüße')
    expect(guest.has('heat-cfntools/provision-finished'), '')

    guest.follow('started', heat.key)
    heat.ask('PUT', stack, {'template': template(server('later on'))})
    expect(until(lambda: (status := heat.status(stack)) != 'UPDATE_IN_PROGRESS' and status),
           'UPDATE_COMPLETE')
    guest.hear()
    expect(guest.has('told/here'), 'later on')
    heat.delete(stack)


def play_stats(heat, programs, directory, host):
    stack = heat.create('watched', {
        'guest': {'type': 'OS::Heat::DeployedServer',
                  'properties': {'software_config_transport': 'POLL_SERVER_CFN'}},
        'group': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
            'min_size': 1, 'max_size': 2, 'resource': {'type': 'OS::Heat::RandomString'}}},
        'up': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            'auto_scaling_group_id': {'get_resource': 'group'}, 'scaling_adjustment': 1,
            'adjustment_type': 'change_in_capacity'}},
        'hot': {'type': 'OS::Heat::CWLiteAlarm', 'properties': {
            'MetricName': 'Load', 'Namespace': 'system/linux', 'Statistic': 'Maximum',
            'Period': '10', 'EvaluationPeriods': '1', 'Threshold': '80',
            'ComparisonOperator': 'GreaterThanThreshold',
            'AlarmActions': [{'get_attr': ['up', 'alarm_url']}]}},
    })
    expect(heat.settled(stack), 'CREATE_COMPLETE')
    guest = Guest(directory / 'watched', programs)
    told = guest.root / 'var/lib/heat-cfntools'
    told.mkdir()
    (told / 'cfn-boto-cfg').write_text(
        f'[Boto]\ncloudwatch_region_name = heat\ncloudwatch_region_endpoint = {host}\n')
    (told / 'nova_meta.json').write_text(json.dumps({'uuid': 'guest-1', 'meta': {'role': 'web'}}))
    # It puts data as its stack's user.
    metadata = heat.ask('GET', f'{stack}/resources/guest/metadata')['metadata']
    user = metadata['os-collect-config']['cfn']
    guest.follow('watched', {'access': user['access_key_id'], 'secret': user['secret_access_key']})

    def size():
        shown = heat.ask('GET', f'{stack}/resources/group')['resource']
        return shown['attributes']['current_size']

    def grown():
        guest.run(programs / 'cfn-push-stats', '--watch', 'watched-hot', '--metric', 'Load',
                  '--units', 'Percent', '--value', '95')
        return size() == 2

    expect(size(), 1)
    until(grown)
    heat.delete(stack)


def handle_of(heat, stack):
    try:
        return heat.ask('GET', f'{stack}/resources/address')['resource']['attributes'].get('value')
    except urllib.error.HTTPError:
        return None


def main(binary):
    programs = pathlib.Path(sys.executable).parent
    os.environ['PATH'] = f'{programs}:{os.environ["PATH"]}'
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        # heat-cfntools ask at ports 8000 and 8003, whatever they are told: this process has an address for it.
        high, low = divmod(os.getpid() % 65_536, 256)
        host = f'127.{high}.{low}.2'
        server = Server(binary, directory, False, f'{host}:8000', f'{host}:8003')
        try:
            heat = Heat(server)
            for collector, transport in COLLECTORS.items():
                play_collector(heat, programs, directory, collector, transport)
            play_signal(heat, programs)
            play_start(heat, programs, directory)
            play_stats(heat, programs, directory, host)
        finally:
            server.process.kill()
            server.process.wait()
    print('agents: os-collect-config, cfn-signal, cfn-init, cfn-hup and cfn-push-stats are served')


main(pathlib.Path(sys.argv[1]).resolve())
