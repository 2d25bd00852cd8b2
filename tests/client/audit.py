"""Compares what the cloud holds with what the stacks say, and has the log proved."""
import collections
import subprocess
import time

import openstack
import openstack.config
import openstack.connection

AT_REST_WITHIN_SECS = 60
STILL_FOR_SECS = 10
LOOK_EVERY_SECS = 0.2
NESTED_DEPTH = 9
# The sandbox's domain of the users that stacks have, and who administers it.
STACK_USERS = 'heat'
STACK_USERS_ADMIN = 'heat_domain_admin'
PROVEN = ['log: every chain holds']

# The type of a resource whose id is that of an object in the cloud, and how those are listed.
KINDS = {
    'OS::Nova::Server': ('server', lambda cloud: cloud.compute.servers()),
    'OS::Nova::ServerGroup': ('server group', lambda cloud: cloud.compute.server_groups()),
    'OS::Nova::KeyPair': ('key pair', lambda cloud: cloud.compute.keypairs()),
    'OS::Cinder::Volume': ('volume', lambda cloud: cloud.block_storage.volumes()),
    'OS::Neutron::Net': ('network', lambda cloud: cloud.network.networks()),
    'OS::Neutron::Subnet': ('subnet', lambda cloud: cloud.network.subnets()),
    'OS::Neutron::Port': ('port', lambda cloud: cloud.network.ports()),
    'OS::Neutron::Router': ('router', lambda cloud: cloud.network.routers()),
    'OS::Neutron::FloatingIP': ('floating ip', lambda cloud: cloud.network.ips()),
    'OS::Neutron::SecurityGroup':
        ('security group', lambda cloud: cloud.network.security_groups()),
    'OS::Swift::Container': ('container', lambda cloud: cloud.object_store.containers()),
}
# What a snapshot of a stack leaves in the cloud, and the key that names it in the snapshot.
SNAPSHOT_KINDS = {
    'snapshot_image_id': ('image', lambda cloud: cloud.image.images()),
    'backup_id': ('backup', lambda cloud: cloud.block_storage.backups()),
}


class Audit:
    """Knows what the cloud held before the first stack."""

    def __init__(self, binary, data):
        config = openstack.config.OpenStackConfig(
            config_files=[str(data / 'clouds.yaml')], load_envvars=False)
        self.cloud, self.admin = (
            openstack.connection.Connection(config=config.get_one(name))
            for name in ('hearth', 'hearth-admin'))
        self.verify = [binary, 'verify', '--data', data]
        self.before = {(kind, one.id) for kind, one in self._held()}

    def lines(self, fits):
        """Looks until the lines fit, or for so long. First the stacks are to come to rest."""
        start = changed = time.monotonic()
        before = None
        while True:
            lines, are_at_rest = self._look()
            now = time.monotonic()
            if lines != before:
                before, changed = lines, now
            is_over = now - start > AT_REST_WITHIN_SECS
            if fits(lines + PROVEN) or are_at_rest and now - changed > STILL_FOR_SECS or is_over:
                return lines + self._proof()
            time.sleep(LOOK_EVERY_SECS)

    def _look(self):
        stacks = self._get('/stacks?show_nested=True')['stacks']
        moving = [stack['stack_name'] for stack in stacks
                  if stack['stack_status'].endswith('IN_PROGRESS')]
        if moving:
            return [f'{name} is at work' for name in moving], False
        roots = sorted((stack for stack in stacks if not stack['parent']),
                       key=lambda stack: stack['stack_name'])
        said, snapshots = [], []
        for stack in roots:
            at = f'/stacks/{stack["stack_name"]}/{stack["id"]}'
            said += self._get(f'{at}/resources?nested_depth={NESTED_DEPTH}')['resources']
            snapshots += self._get(f'{at}/snapshots')['snapshots']
        return [status(stack) for stack in roots] + self._differences(said, snapshots), True

    def _differences(self, resources, snapshots):
        """What the stacks say and the cloud has not, and what it holds of nobody; else its sum."""
        said = {(KINDS[resource['resource_type']][0], resource['physical_resource_id']): resource
                for resource in resources
                if resource['resource_type'] in KINDS and resource['physical_resource_id']}
        of_snapshots = {(kind, data[key])
                        for snapshot in snapshots for data in data_of(snapshot)
                        for key, (kind, _) in SNAPSHOT_KINDS.items() if key in data}
        held = [(kind, one) for kind, one in self._held() if (kind, one.id) not in self.before]
        ids = {(kind, one.id) for kind, one in held}
        lines = [f'{resource["resource_name"]}: its {kind} is not there'
                 for (kind, id), resource in said.items() if (kind, id) not in ids]
        lines += [f'a snapshot: its {kind} is not there' for kind, id in of_snapshots - ids]
        lines += [f'nobody has the {kind} {one.name or one.id}' for kind, one in held
                  if (kind, one.id) not in said and (kind, one.id) not in of_snapshots
                  and not (kind == 'port' and ('server', one.device_id) in ids)]
        if not lines:
            count = collections.Counter(kind for kind, _ in ids)
            count.update(self._of_stacks())
            sums = [f'{count[kind]} {kind}{"s" * (count[kind] > 1)}' for kind in sorted(count)]
            lines = [f'cloud: {", ".join(sums) or "nothing"}']
        return sorted(lines)

    def _held(self):
        """Every object of the project but the ports that Neutron makes for itself."""
        for kind, of_cloud in [*KINDS.values(), *SNAPSHOT_KINDS.values()]:
            for one in of_cloud(self.cloud):
                if not (kind == 'port' and one.device_owner.startswith('network:')):
                    yield kind, one

    def _of_stacks(self):
        """Which users and projects stacks have made: they stand in no view, so they are counted."""
        users = self.admin.identity.users(domain_id=STACK_USERS)
        yield from ('stack user' for user in users if user.name != STACK_USERS_ADMIN)
        projects = self.admin.identity.projects(domain_id=STACK_USERS)
        yield from ('stack project' for _ in projects)

    def _get(self, path):
        answer = self.cloud.orchestration.get(path)
        answer.raise_for_status()
        return answer.json()

    def _proof(self):
        done = subprocess.run(self.verify, text=True, capture_output=True)
        if done.returncode:
            return (done.stdout + done.stderr).splitlines()
        return PROVEN


def status(stack):
    line = f'{stack["stack_name"]} {stack["stack_status"]}'
    if stack['stack_status'].endswith('FAILED'):
        line += f': {stack["stack_status_reason"]}'
    return line


def data_of(snapshot):
    """The data of the resources of a snapshot, nested ones too."""
    todo = [snapshot['data']] if snapshot['data'] else []
    while todo:
        for resource in (todo.pop().get('resources') or {}).values():
            data = resource.get('resource_data') or {}
            yield data
            todo.append(resource)
