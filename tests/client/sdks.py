"""The libraries and programs that clouds are driven by, unmodified, each with a stack from the
cradle to the grave: openstacksdk, python-heatclient as a library, Ansible's openstack.cloud and
gophercloud."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import heatclient.client
import heatclient.common.template_utils
import heatclient.exc
import openstack

from processes import Server

WITHIN_SECS = 60
HERE = pathlib.Path(__file__).resolve().parent / 'sdks'
TEMPLATE = HERE / 'stack.yaml'


def expect(seen, wanted):
    if seen != wanted:
        sys.exit(f'{seen!r}, where {wanted!r} was expected')


def until(wanted, look):
    end = time.monotonic() + WITHIN_SECS
    while (seen := look()) != wanted:
        if time.monotonic() > end:
            sys.exit(f'{seen}, and never {wanted}')
        time.sleep(0.1)


def play_openstacksdk(cloud):
    made = cloud.create_stack('sdk', template_file=str(TEMPLATE), wait=True, tags='one,two',
                              text='green')
    expect(made.status, 'CREATE_COMPLETE')
    expect([(it['output_key'], it['output_value']) for it in made.outputs], [('said', 'green')])
    heat = cloud.orchestration
    stack = heat.find_stack('sdk')
    expect(sorted(stack.tags), ['one', 'two'])
    expect([it.name for it in heat.stacks(tags=['one'])], ['sdk'])
    [resource] = heat.resources(stack)
    expect((resource.logical_resource_id, resource.status), ('said', 'CREATE_COMPLETE'))
    expect(heat.get_stack_template(stack).heat_template_version, '2021-04-16')
    expect(heat.get_stack_environment(stack).parameters, {'text': 'green'})
    expect(heat.get_stack_files(stack), {})
    changed = cloud.update_stack('sdk', template_file=str(TEMPLATE), wait=True, text='red')
    expect(changed.status, 'UPDATE_COMPLETE')
    for act, status in ((heat.suspend_stack, 'SUSPEND_COMPLETE'),
                        (heat.resume_stack, 'RESUME_COMPLETE'),
                        (heat.check_stack, 'CHECK_COMPLETE')):
        act(stack)
        until(status, lambda: heat.get_stack(stack).status)
    expect('said' in {it.resource_name for it in heat.stack_events(stack)}, True)
    config = heat.create_software_config(name='run', group='script', config='true')
    expect(heat.get_software_config(config.id).name, 'run')
    heat.delete_software_config(config)
    checked = heat.validate_template(TEMPLATE.read_text())
    expect(list(checked.parameters), ['text'])
    expect(cloud.delete_stack('sdk', wait=True), True)
    expect(cloud.get_stack('sdk'), None)


def play_heatclient(session):
    heat = heatclient.client.Client('1', session=session)
    files, template = heatclient.common.template_utils.get_template_contents(str(TEMPLATE))
    asked = {'stack_name': 'library', 'template': template, 'files': files,
             'parameters': {'text': 'green'}}
    expect(heat.stacks.preview(**asked).parameters['text'], 'green')
    made = heat.stacks.create(**asked)['stack']
    until('CREATE_COMPLETE', lambda: heat.stacks.get(made['id']).stack_status)
    try:
        heat.stacks.create(**asked)
        sys.exit('a name was given twice')
    except heatclient.exc.HTTPConflict:
        pass
    expect(heat.stacks.output_show(made['id'], 'said')['output']['output_value'], 'green')
    expect([it.stack_name for it in heat.stacks.list(filters={'name': 'library'})], ['library'])
    expect(heat.resources.get(made['id'], 'said').attributes['output'], 'green')
    heat.resources.mark_unhealthy(made['id'], 'said', True, 'by hand')
    expect(heat.resources.get(made['id'], 'said').resource_status, 'CHECK_FAILED')
    heat.stacks.update(made['id'], existing=True, parameters={'text': 'red'})
    until('UPDATE_COMPLETE', lambda: heat.stacks.get(made['id']).stack_status)
    expect(heat.events.list(made['id'], resource_name='said')[0].resource_name, 'said')
    heat.stacks.snapshot(made['id'], name='kept')
    until(['COMPLETE'], lambda: [it['status'] for it in
                                 heat.stacks.snapshot_list(made['id'])['snapshots']])
    expect('OS::Heat::TestResource' in {it.resource_type for it in heat.resource_types.list()},
           True)
    expect('2021-04-16' in str(list(heat.template_versions.list())), True)
    expect('revision' in heat.build_info.build_info()['engine'], True)
    heat.stacks.delete(made['id'])
    until([], lambda: [it.stack_name for it in heat.stacks.list()])


def run(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, cwd=HERE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if done.returncode != 0:
        sys.exit(f'{command[0]} has ended with {done.returncode}:\n{done.stdout}')


def play_ansible(environment, directory):
    """Its collection knows openstacksdk as it was when it was released, which stands apart."""
    venv = pathlib.Path(sys.executable).parent.parent
    run([venv / 'bin/ansible-playbook', '-i', 'localhost,', 'playbook.yml'],
        {**environment, 'PYTHONPATH': str(venv / 'ansible-sdk'),
         'ANSIBLE_COLLECTIONS_PATH': str(venv / 'collections'),
         'ANSIBLE_LOCAL_TEMP': str(directory / 'ansible'),
         'ANSIBLE_REMOTE_TEMP': str(directory / 'ansible'), 'LC_ALL': 'C.UTF-8'})


def play_gophercloud(auth_url, directory):
    """Built without modules, from where Debian keeps the library."""
    building = {'GO111MODULE': 'off', 'GOPATH': '/usr/share/gocode',
                'GOCACHE': str(directory / 'go'), 'GOFLAGS': ''}
    program = directory / 'stack'
    run(['go', 'build', '-o', str(program), 'stack.go'], building)
    run([str(program), str(TEMPLATE)], {
        'OS_AUTH_URL': auth_url, 'OS_USERNAME': 'demo', 'OS_PASSWORD': 'secret',
        'OS_PROJECT_NAME': 'demo', 'OS_DOMAIN_NAME': 'Default', 'OS_REGION_NAME': 'RegionOne'})


def main(binary):
    with tempfile.TemporaryDirectory() as text:
        directory = pathlib.Path(text)
        server = Server(binary, directory, False)
        environment = {'OS_CLIENT_CONFIG_FILE': str(server.data / 'clouds.yaml'),
                       'OS_CLOUD': 'hearth'}
        os.environ.update(environment)
        try:
            cloud = openstack.connect()
            play_openstacksdk(cloud)
            play_heatclient(cloud.session)
            play_ansible(environment, directory)
            play_gophercloud(server.auth_url, directory)
        finally:
            server.process.kill()
            server.process.wait()
    print('sdks: openstacksdk, heatclient, Ansible and gophercloud are served')


main(pathlib.Path(sys.argv[1]).resolve())
